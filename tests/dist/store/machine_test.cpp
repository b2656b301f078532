// tests/dist/store/machine_test.cpp -- what the store answers, and when, for each kind of request.
#include "resilin/dist/store/machine.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

namespace resilin::dist {
namespace {

/// A machine with the requests of one test; connections are numbers, the id of a request is its place in the test.
struct Machine {
  explicit Machine(StoreLimits limits = {}) : machine(limits) {}
  StoreMachine machine;
  std::uint64_t last_id = 0;

  std::vector<StoreAnswer> send(Request request, std::uint64_t connection = 1) {
    return machine.step(RequestArrived{connection, ++last_id, std::move(request)});
  }
  /// The reply of a request that is answered at once.
  Reply ask(Request request, std::uint64_t connection = 1) {
    const std::vector<StoreAnswer> answers = send(std::move(request), connection);
    REQUIRE(!answers.empty());
    CHECK(answers[0].id == last_id);
    CHECK(answers[0].connection == connection);
    return answers[0].reply;
  }
  std::vector<StoreAnswer> tell(std::uint64_t now_ms) { return machine.step(TimeTold{now_ms}); }
  std::string text(const std::string& key) {
    const StoreValue* value = machine.keys().find(key);
    return value == nullptr ? "absent" : value->bytes;
  }
};

Request set(const std::string& key, const std::string& bytes) { return {.op = StoreOp::Txn, .writes = {{.key = key, .bytes = bytes}}}; }
Request get(std::vector<std::string> keys, std::uint64_t wait_ms = 0) {
  return {.op = StoreOp::Get, .keys = std::move(keys), .wait_ms = wait_ms};
}
Request pop(const std::string& queue, std::uint64_t wait_ms = 0) { return {.op = StoreOp::Pop, .keys = {queue}, .wait_ms = wait_ms}; }

}  // namespace

TEST_CASE("a value comes back with its version and its writer") {
  Machine m;
  Request write = set("a", "1");
  write.writer = {7, 1};
  const std::uint64_t version = m.ask(write).version;
  const Reply reply = m.ask(get({"a", "b"}));
  CHECK(reply.status == StoreStatus::Ok);
  CHECK(reply.values[0].bytes == "1");
  CHECK(reply.values[0].version == version);
  CHECK(reply.values[0].writer == Writer{7, 1});
  CHECK_FALSE(reply.values[1].exists());
}

TEST_CASE("versions grow over all keys, also when a key is removed and made again") {
  Machine m;
  const std::uint64_t first = m.ask(set("a", "1")).version;
  const std::uint64_t other = m.ask(set("b", "1")).version;
  m.ask({.op = StoreOp::Txn, .writes = {{.key = "a", .kind = WriteKind::Remove}}});
  const std::uint64_t again = m.ask(set("a", "1")).version;
  CHECK(first < other);
  CHECK(other < again);
}

TEST_CASE("a transaction writes everything or nothing") {
  Machine m;
  m.ask(set("a", "1"));
  const std::uint64_t version = m.ask(get({"a"})).values[0].version;
  const std::vector<Write> writes = {{.key = "a", .bytes = "2"}, {.key = "b", .bytes = "3"}};
  const Reply refused =
      m.ask({.op = StoreOp::Txn, .compares = {{.key = "a", .version = version}, {.key = "c", .version = 5}}, .writes = writes});
  CHECK(refused.status == StoreStatus::Refused);
  CHECK(refused.values.size() == 2);
  CHECK(refused.values[0].bytes == "1");
  CHECK(m.text("a") == "1");
  CHECK(m.text("b") == "absent");
  const std::vector<Compare> fine = {{.key = "a", .version = version}, {.key = "c"}, {.key = "a", .match = Match::Bytes, .bytes = "1"}};
  CHECK(m.ask({.op = StoreOp::Txn, .compares = fine, .writes = writes}).status == StoreStatus::Ok);
  CHECK(m.text("a") == "2");
  CHECK(m.text("b") == "3");
}

TEST_CASE("add counts in decimal text and refuses what is no number or too large") {
  Machine m;
  CHECK(m.ask({.op = StoreOp::Add, .keys = {"n"}, .amount = 5}).number == 5);
  CHECK(m.ask({.op = StoreOp::Add, .keys = {"n"}, .amount = -7}).number == -2);
  CHECK(m.text("n") == "-2");
  m.ask(set("n", "x"));
  CHECK(m.ask({.op = StoreOp::Add, .keys = {"n"}, .amount = 1}).status == StoreStatus::Invalid);
  m.ask(set("n", "9223372036854775807"));
  const Reply reply = m.ask({.op = StoreOp::Add, .keys = {"n"}, .amount = 1});
  CHECK(reply.status == StoreStatus::Invalid);
  CHECK(reply.error == "add: the sum does not fit 64 bits: key \"n\" holds 9223372036854775807, 1 is added");
}

TEST_CASE("append, check, num_keys and list see what is there") {
  Machine m;
  CHECK(m.ask({.op = StoreOp::Append, .keys = {"log/a"}, .bytes = "xy"}).number == 2);
  CHECK(m.ask({.op = StoreOp::Append, .keys = {"log/a"}, .bytes = "z"}).number == 3);
  m.ask(set("log/b", ""));
  m.ask(set("other", ""));
  CHECK(m.text("log/a") == "xyz");
  CHECK(m.ask({.op = StoreOp::NumKeys}).number == 3);
  CHECK(m.ask({.op = StoreOp::List, .keys = {"log/"}}).keys == std::vector<std::string>{"log/a", "log/b"});
  CHECK(m.ask({.op = StoreOp::Check, .keys = {"log/a", "other"}}).number == 1);
  CHECK(m.ask({.op = StoreOp::Check, .keys = {"log/a", "gone"}}).number == 0);
}

TEST_CASE("a waiting get is answered by the write that completes it") {
  Machine m;
  CHECK(m.send(get({"a", "b"}, 1000), 1).empty());
  CHECK(m.send(set("a", "1"), 2).size() == 1);
  const std::vector<StoreAnswer> answers = m.send(set("b", "2"), 2);
  REQUIRE(answers.size() == 2);
  CHECK(answers[1].connection == 1);
  CHECK(answers[1].id == 1);
  CHECK(answers[1].reply.status == StoreStatus::Ok);
  CHECK(answers[1].reply.values[1].bytes == "2");
  CHECK(m.machine.waiting_count() == 0);
}

TEST_CASE("a wait ends at its deadline with what there is") {
  Machine m;
  m.tell(100);
  m.ask(set("a", "1"));
  CHECK(m.send(get({"a", "b"}, 50)).empty());
  CHECK(m.machine.next_deadline_ms() == 150);
  CHECK(m.tell(149).empty());
  const std::vector<StoreAnswer> answers = m.tell(150);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].reply.status == StoreStatus::Expired);
  CHECK(answers[0].reply.values[0].bytes == "1");
  CHECK_FALSE(answers[0].reply.values[1].exists());
}

TEST_CASE("watch answers when one of its keys has another version, also by removal") {
  Machine m;
  const std::uint64_t version = m.ask(set("a", "1")).version;
  const Request watch{.op = StoreOp::Watch, .keys = {"a", "b"}, .versions = {version, 0}, .wait_ms = 1000};
  CHECK(m.send(watch).empty());
  CHECK(m.send(set("c", "1")).size() == 1);
  CHECK(m.send(set("b", "1")).size() == 2);
  CHECK(m.send(watch).size() == 1);
  const Request again{.op = StoreOp::Watch, .keys = {"a"}, .versions = {version}, .wait_ms = 1000};
  CHECK(m.send(again).empty());
  const std::vector<StoreAnswer> answers = m.send({.op = StoreOp::Txn, .writes = {{.key = "a", .kind = WriteKind::Remove}}});
  REQUIRE(answers.size() == 2);
  CHECK_FALSE(answers[1].reply.values[0].exists());
}

TEST_CASE("a queue gives its items in order, to those who wait in the order in which they came") {
  Machine m;
  CHECK(m.ask(pop("q")).status == StoreStatus::Expired);
  CHECK(m.send(pop("q", 1000), 1).empty());
  CHECK(m.send(pop("q", 1000), 2).empty());
  const std::vector<StoreAnswer> answers = m.send({.op = StoreOp::Push, .keys = {"q"}, .bytes = "x"}, 3);
  REQUIRE(answers.size() == 2);
  CHECK(answers[1].connection == 1);
  CHECK(answers[1].reply.values[0].bytes == "x");
  CHECK(m.machine.waiting_count() == 1);
  CHECK(m.ask({.op = StoreOp::Push, .keys = {"q"}, .bytes = "y"}).number == 1);
  m.ask({.op = StoreOp::Push, .keys = {"q"}, .bytes = "1"});
  m.ask({.op = StoreOp::Push, .keys = {"q"}, .bytes = "2"});
  CHECK(m.ask({.op = StoreOp::QueueLength, .keys = {"q"}}).number == 2);
  const Reply reply = m.ask(pop("q"));
  CHECK(reply.values[0].bytes == "1");
  CHECK(reply.number == 1);
}

TEST_CASE("a closed connection takes its keys and its waiting requests with it") {
  Machine m;
  m.ask({.op = StoreOp::Txn, .writes = {{.key = "here", .bytes = "1", .life = Life::Connection}}}, 1);
  m.ask({.op = StoreOp::Txn, .writes = {{.key = "other", .bytes = "1", .life = Life::Connection}}}, 2);
  CHECK(m.send(get({"later"}, 1000), 1).empty());
  const Request watch{.op = StoreOp::Watch, .keys = {"here"}, .versions = {m.ask(get({"here"})).values[0].version}, .wait_ms = 1000};
  CHECK(m.send(watch, 2).empty());
  const std::vector<StoreAnswer> answers = m.machine.step(ConnectionClosed{1});
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].connection == 2);
  CHECK(m.text("here") == "absent");
  CHECK(m.text("other") == "1");
  CHECK(m.machine.waiting_count() == 0);
}

TEST_CASE("a key written again by another connection stays when the first one closes") {
  Machine m;
  m.ask({.op = StoreOp::Txn, .writes = {{.key = "a", .bytes = "1", .life = Life::Connection}}}, 1);
  m.ask({.op = StoreOp::Txn, .writes = {{.key = "a", .bytes = "2", .life = Life::Connection}}}, 2);
  m.machine.step(ConnectionClosed{1});
  CHECK(m.text("a") == "2");
}

TEST_CASE("a lease ends after its time, unless it is renewed or nobody watched the time") {
  Machine m({.late_tick_ms = 500});
  const Request lease{.op = StoreOp::Txn, .writes = {{.key = "a", .bytes = "1", .life = Life::Ttl, .ttl_ms = 400}}};
  m.tell(1000);
  m.ask(lease);
  m.tell(1300);
  m.ask(lease);
  m.tell(1699);
  CHECK(m.text("a") == "1");
  m.tell(1700);
  CHECK(m.text("a") == "absent");
  m.ask(lease);
  m.tell(1701 + 1000);  // a late tick: 1001 ms that say nothing
  CHECK(m.text("a") == "1");
  m.tell(1700 + 1001 + 399);
  CHECK(m.text("a") == "1");
  m.tell(1700 + 1001 + 400);
  CHECK(m.text("a") == "absent");
}

TEST_CASE("a repeated write is done once and has the same reply, until its writer holds it") {
  Machine m;
  Request add{.op = StoreOp::Add, .writer = {7, 1}, .keys = {"n"}, .amount = 1};
  CHECK(m.ask(add, 1).number == 1);
  CHECK(m.ask(add, 2).number == 1);
  add.writer.nonce = 2;
  CHECK(m.ask(add, 2).number == 2);
  add.writer = {7, 1};
  CHECK(m.ask(add, 2).number == 1);
  CHECK(m.text("n") == "2");
  add = {.op = StoreOp::Add, .writer = {7, 3}, .answered = 2, .keys = {"n"}, .amount = 1};
  CHECK(m.ask(add).number == 3);
  add.writer.nonce = 2;
  CHECK(m.ask(add).status == StoreStatus::Invalid);
  add = {.op = StoreOp::Add, .writer = {8, 1}, .keys = {"n"}, .amount = 1};
  CHECK(m.ask(add).number == 4);
}

TEST_CASE("a pop that is repeated while it waits takes one item only") {
  Machine m;
  Request take = pop("q", 1000);
  take.writer = {7, 1};
  CHECK(m.send(take, 1).empty());
  CHECK(m.send(take, 2).empty());
  CHECK(m.machine.waiting_count() == 1);
  const std::vector<StoreAnswer> answers = m.send({.op = StoreOp::Push, .keys = {"q"}, .bytes = "x"}, 3);
  REQUIRE(answers.size() == 2);
  CHECK(answers[1].connection == 2);
  CHECK(m.ask(take, 3).values[0].bytes == "x");
}

TEST_CASE("a refused transaction may succeed when it is repeated") {
  Machine m;
  Request request{.op = StoreOp::Txn, .writer = {7, 1}, .compares = {{.key = "a"}}, .writes = {{.key = "a", .bytes = "2"}}};
  m.ask(set("a", "1"));
  CHECK(m.ask(request).status == StoreStatus::Refused);
  m.ask({.op = StoreOp::Txn, .writes = {{.key = "a", .kind = WriteKind::Remove}}});
  CHECK(m.ask(request).status == StoreStatus::Ok);
  CHECK(m.ask(request).status == StoreStatus::Ok);
  CHECK(m.text("a") == "2");
}

TEST_CASE("limits are named with their values and nothing is done") {
  Machine m({.key_bytes = 8, .value_bytes = 4});
  CHECK(m.ask(set("123456789", "")).error == "txn: a key is too long: 9 bytes, \"123456789...\"; at most 8 are taken");
  CHECK(m.ask(set("a", "12345")).error == "txn: a value is too long: 5 bytes; at most 4 are taken");
  CHECK(m.ask({.op = StoreOp::Append, .keys = {"a"}, .bytes = "123"}).number == 3);
  CHECK(m.ask({.op = StoreOp::Append, .keys = {"a"}, .bytes = "45"}).status == StoreStatus::Invalid);
  CHECK(m.ask({.op = StoreOp::Get, .keys = {"123456789"}}).status == StoreStatus::Invalid);
  CHECK(m.ask({.op = StoreOp::Txn, .compares = {{.key = "123456789"}}}).status == StoreStatus::Invalid);
  CHECK(m.ask({.op = StoreOp::Push, .keys = {"q"}, .bytes = "12345"}).status == StoreStatus::Invalid);
  CHECK(m.ask({.op = StoreOp::Add, .keys = {"a", "b"}}).status == StoreStatus::Invalid);
  CHECK(m.ask({.op = StoreOp::Watch, .keys = {"a"}}).status == StoreStatus::Invalid);
  CHECK(m.ask({.op = StoreOp::Txn, .writes = {{.key = "b", .bytes = "1"}, {.key = "b", .bytes = "2"}}}).status == StoreStatus::Invalid);
  CHECK(m.ask({.op = StoreOp::Txn, .writes = {{.key = "b", .life = Life::Ttl}}}).status == StoreStatus::Invalid);
  CHECK(m.text("a") == "123");
  CHECK(m.machine.keys().size() == 1);
}

TEST_CASE("a machine goes on from a snapshot as the first one would have") {
  Machine m;
  m.tell(1000);
  const std::uint64_t version = m.ask(set("a", "1")).version;
  m.ask({.op = StoreOp::Txn, .writes = {{.key = "lease", .bytes = "", .life = Life::Ttl, .ttl_ms = 100}}});
  m.ask({.op = StoreOp::Txn, .writes = {{.key = "bound", .bytes = "", .life = Life::Connection}}});
  m.ask({.op = StoreOp::Push, .keys = {"q"}, .bytes = "x"});
  const Request add{.op = StoreOp::Add, .writer = {7, 1}, .keys = {"n"}, .amount = 1};
  m.ask(add);
  CHECK(m.send(get({"later"}, 1000)).empty());
  const std::string snapshot = m.machine.snapshot();
  Machine n;
  n.machine = StoreMachine::restore(snapshot, {}, 5000);
  CHECK(n.text("a") == "1");
  CHECK(n.text("bound") == "absent");
  CHECK(n.machine.waiting_count() == 0);
  CHECK(n.ask(add).number == 1);
  CHECK(n.ask(pop("q")).values[0].bytes == "x");
  CHECK(n.ask(set("b", "1")).version > version);
  n.tell(5099);
  CHECK(n.text("lease") == "");
  n.tell(5100);
  CHECK(n.text("lease") == "absent");
  std::string damaged = snapshot;
  damaged.back() ^= 1;
  CHECK_THROWS_AS(StoreMachine::restore(damaged), VersionError);
  CHECK_THROWS_AS(StoreMachine::restore(snapshot.substr(0, 20)), VersionError);
}

}  // namespace resilin::dist
