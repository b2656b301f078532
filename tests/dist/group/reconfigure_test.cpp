// tests/dist/group/reconfigure_test.cpp -- PyTorch's scenarios of groups that change their members in place, by the names of its tests.
#include <chrono>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/tensor/tensor.h"

#include "tests/support/ranks.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;
using test::message_of;
using test::Ranks;

/// Every listed process gives its number; all must get the sum.
void check_sum(Ranks& ranks, const std::vector<int>& processes) {
  float expected = 0;
  for (const int process : processes) expected += static_cast<float>(process + 1);
  ranks.run(processes, [&](int process, ProcessGroup& group) {
    const Tensor x = Tensor::allocate(Shape{17}, DType::F32);
    for (i64 i = 0; i < 17; ++i) static_cast<float*>(x.data())[i] = static_cast<float>(process + 1);
    group.all_reduce(x).wait();
    for (i64 i = 0; i < 17; ++i) {
      const float got = static_cast<float*>(x.data())[i];
      if (got != expected) throw std::runtime_error(cat("process ", process, ": ", got, ", expected ", expected));
    }
  });
}

void check_ranks(Ranks& ranks, const std::vector<int>& processes) {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    CHECK(ranks[processes[i]].rank() == static_cast<int>(i));
    CHECK(ranks[processes[i]].size() == static_cast<int>(processes.size()));
  }
  check_sum(ranks, processes);
}

void become(Ranks& ranks, const std::vector<int>& processes) {
  ranks.reconfigure(processes);
  check_ranks(ranks, processes);
}

TEST_CASE("reconfigure: basic, and nothing before it") {
  Ranks ranks(3);
  const Tensor x = Tensor::allocate(Shape{1}, DType::F32);
  CHECK(message_of([&] { ranks[0].all_reduce(x); }) == "all_reduce: group default has no members yet; reconfigure it first");
  CHECK(ranks[0].generation() == 0);
  const std::string before = ranks[1].reconfigure_handle();
  become(ranks, {0, 1, 2});
  CHECK(ranks[1].reconfigure_handle() != before);
  CHECK(ranks[0].info().handles[1] == ranks[1].reconfigure_handle());
  become(ranks, {0, 1, 2});  // identity
}

TEST_CASE("a group of nothing says so") {
  const ProcessGroup nothing;
  CHECK_THROWS_AS(nothing.rank(), ArgumentError);
  CHECK_THROWS_AS(ProcessGroup(GroupOptions{}), ArgumentError);
}

TEST_CASE("reconfigure: send and recv in a ring after it") {
  Ranks ranks(3);
  ranks.reconfigure({2, 0, 1});
  ranks.run([&](int, ProcessGroup& group) {
    const Tensor mine = Tensor::allocate(Shape{1}, DType::I64), theirs = Tensor::allocate(Shape{1}, DType::I64);
    *static_cast<i64*>(mine.data()) = group.rank();
    const Work sent = group.send(mine, (group.rank() + 1) % 3);
    group.recv(theirs, (group.rank() + 2) % 3).wait();
    sent.wait();
    if (*static_cast<i64*>(theirs.data()) != (group.rank() + 2) % 3) throw std::runtime_error("ring");
  });
}

TEST_CASE("reconfigure: shrink the last, shrink the middle, rejoin, three times") {
  Ranks ranks(3);
  become(ranks, {0, 1, 2});
  for (int round = 0; round < 3; ++round) {
    become(ranks, {0, 1});
    become(ranks, {0, 1, 2});
    become(ranks, {0, 2});  // renumbers
    become(ranks, {0, 2, 1});
  }
}

TEST_CASE("reconfigure: down to one, and up again; from one to all") {
  Ranks ranks(3);
  become(ranks, {0});
  become(ranks, {0, 1, 2});
  ranks.reconfigure({0});
  ranks.reconfigure({1});
  ranks.reconfigure({2});
  for (const int process : {0, 1, 2}) check_ranks(ranks, {process});
  become(ranks, {2, 1, 0});
}

TEST_CASE("reconfigure: a late process joins; disjoint groups merge") {
  Ranks ranks(4);
  ranks.reconfigure({0, 1});
  ranks.reconfigure({2, 3});
  check_sum(ranks, {0, 1});
  check_sum(ranks, {2, 3});
  become(ranks, {0, 1, 2, 3});
  const int late = ranks.add();
  become(ranks, {0, 1, 2, 3, late});
}

TEST_CASE("reconfigure: after abort") {
  Ranks ranks(3);
  become(ranks, {0, 1, 2});
  const Tensor x = Tensor::allocate(Shape{8}, DType::F32);
  const Work waiting = ranks[0].all_reduce(x);
  ranks[1].abort("the test says so");
  CHECK(message_of([&] { waiting.wait(milliseconds(10'000)); }).find("rank 1 aborted the group: the test says so") != std::string::npos);
  CHECK(waiting.state() == WorkState::Cancelled);
  CHECK(ranks[1].is_aborted());
  CHECK_THROWS_AS(ranks[1].all_reduce(x), CancelledError);
  CHECK_THROWS_AS(ranks[1].lanes(0), CancelledError);
  ranks[1].abort("again");  // does nothing
  become(ranks, {0, 1, 2});
  CHECK_FALSE(ranks[1].is_aborted());
}

TEST_CASE("reconfigure: after an operation timed out while the others were idle") {
  Ranks ranks(3);
  become(ranks, {0, 1, 2});
  const Tensor x = Tensor::allocate(Shape{8}, DType::F32);
  const Work late = ranks[0].all_reduce(x, ReduceOp::Sum, milliseconds(50));
  const std::string message = message_of([&] { late.wait(); });
  CHECK(message.find("timed out after 50 ms; it waits for ranks [1, 2]") != std::string::npos);
  CHECK_THROWS_AS(late.wait(), TimeoutError);
  become(ranks, {0, 1, 2});
}

TEST_CASE("work: the patience of a wait is not the operation's time") {
  Ranks ranks(2);
  become(ranks, {0, 1});
  const Tensor x = Tensor::allocate(Shape{2}, DType::F32), y = Tensor::allocate(Shape{2}, DType::F32);
  const Work work = ranks[0].all_reduce(x);
  CHECK_THROWS_AS(work.wait(milliseconds(20)), TimeoutError);
  CHECK(work.state() == WorkState::Running);
  const Work other = ranks[1].all_reduce(y);
  work.wait(milliseconds(10'000));
  other.wait(milliseconds(10'000));
  CHECK(work.is_success());
  work.wait();  // again
}

TEST_CASE("reconfigure: a uuid that was used is refused, and the old group works on") {
  Ranks ranks(3);
  become(ranks, {0, 1, 2});
  ReconfigureOptions again{.uuid = 1, .handles = {}};
  for (int process = 0; process < 3; ++process) again.handles.push_back(ranks[process].reconfigure_handle());
  ranks.run([&](int, ProcessGroup& group) {
    const std::string message = message_of([&] { group.reconfigure(again); });
    if (message.find("was already used") == std::string::npos) throw std::runtime_error(message);
  });
  check_sum(ranks, {0, 1, 2});
  const int late = ranks.add();
  again.handles.push_back(ranks[late].reconfigure_handle());
  ranks.run([&](int, ProcessGroup& group) {
    const std::string message = message_of([&] { group.reconfigure(again); });
    if (message.find("was already used") == std::string::npos) throw std::runtime_error(message);
  });
  check_sum(ranks, {0, 1, 2});
  become(ranks, {0, 1, 2, late});
}

TEST_CASE("reconfigure: an attempt that lacks a member ends in time, and can be tried again") {
  Ranks ranks(3);
  become(ranks, {0, 1, 2});
  ReconfigureOptions options{.uuid = ranks.next_uuid(), .handles = {}, .timeout = milliseconds(300)};
  for (int process = 0; process < 3; ++process) options.handles.push_back(ranks[process].reconfigure_handle());
  ranks.run({0, 1}, [&](int, ProcessGroup& group) {
    const std::string message = message_of([&] { group.reconfigure(options); });
    if (message.find("timeout: instances [3]") == std::string::npos) throw std::runtime_error(message);
  });
  check_sum(ranks, {0, 1, 2});  // the old generation is what it was
  // Who comes when nothing of the attempt is left hears how it was decided, and another list of that number is refused.
  for (int i = 0; i < 2000 && ranks.store()->check({cat("group/default/try/", options.uuid)}); ++i)
    std::this_thread::sleep_for(milliseconds(1));
  CHECK(message_of([&] { ranks[2].reconfigure(options); }) ==
        cat("reconfigure: attempt ", options.uuid, " was aborted: timeout: instances [3]"));
  options.handles.pop_back();
  CHECK(message_of([&] { ranks[0].reconfigure(options); }).find("was already used") != std::string::npos);
  become(ranks, {0, 1, 2});
}

TEST_CASE("reconfigure: a failed join leaves a handle of its own") {
  Ranks ranks(2);
  ReconfigureOptions options{.uuid = ranks.next_uuid(), .handles = {}, .timeout = milliseconds(200)};
  for (int process = 0; process < 2; ++process) options.handles.push_back(ranks[process].reconfigure_handle());
  CHECK_THROWS_AS(ranks[0].reconfigure(options), ReconfigureError);
  CHECK(ranks[0].reconfigure_handle() != ranks[1].reconfigure_handle());
  CHECK(ranks[ranks.add()].reconfigure_handle() != ranks[0].reconfigure_handle());
  become(ranks, {0, 1});
}

TEST_CASE("reconfigure: lists that cannot be are refused before anything happens") {
  Ranks ranks(2);
  become(ranks, {0, 1});
  const std::string mine = ranks[0].reconfigure_handle(), other = ranks[1].reconfigure_handle();
  const auto refusal = [&](std::vector<std::string> handles) {
    return message_of([&] { ranks[0].reconfigure({.uuid = ranks.next_uuid(), .handles = std::move(handles)}); });
  };
  CHECK(refusal({}).find("requires at least one handle") != std::string::npos);
  CHECK(refusal({mine, mine}).find("must be unique") != std::string::npos);
  CHECK(refusal({other}).find("is not part of the new communicator") != std::string::npos);
  CHECK(refusal({mine, "nccl2:0:1"}).find("nccl2:0:1") != std::string::npos);
  check_sum(ranks, {0, 1});
}

TEST_CASE("a dead peer raises in every collective, and the survivors go on") {
  for (const int kind : {0, 1, 2, 3, 4, 5}) {
    CAPTURE(kind);
    Ranks ranks(3);
    become(ranks, {0, 1, 2});
    std::vector<Work> works;
    for (const int process : {0, 1}) {
      ProcessGroup& group = ranks[process];
      const Tensor x = Tensor::allocate(Shape{30}, DType::F32), y = Tensor::allocate(Shape{90}, DType::F32);
      works.push_back(kind == 0   ? group.all_reduce(x)
                      : kind == 1 ? group.broadcast(x, 2)
                      : kind == 2 ? group.all_gather_single(y, x)
                      : kind == 3 ? group.reduce_scatter_single(x, y)
                      : kind == 4 ? group.barrier()
                                  : group.recv(x, 2));
    }
    ranks.fabric().kill(2);
    for (const Work& work : works) CHECK_THROWS_AS(work.wait(milliseconds(10'000)), PeerError);
    become(ranks, {0, 1});
  }
}

TEST_CASE("ranks that run different collectives all hear of it, with both signatures") {
  Ranks ranks(3);
  become(ranks, {0, 1, 2});
  std::vector<std::string> messages(3);
  ranks.run([&](int process, ProcessGroup& group) {
    const Tensor x = Tensor::allocate(Shape{process == 2 ? 7 : 8}, DType::F32);
    messages[static_cast<std::size_t>(process)] = message_of([&] { group.all_reduce(x).wait(milliseconds(10'000)); });
  });
  for (const std::string& message : messages) {
    CAPTURE(message);
    CHECK(message.find("ranks run different collectives as number 2") != std::string::npos);
    CHECK(message.find("all_reduce(sum, f32, 7 elements)") != std::string::npos);
    CHECK(message.find("all_reduce(sum, f32, 8 elements)") != std::string::npos);
  }
  become(ranks, {0, 1, 2});
}

TEST_CASE("hooks: before, after, at the end, at an abort, at each step of a reconfiguration") {
  Ranks ranks(2);
  std::mutex mutex;
  std::vector<std::string> seen;
  const auto say = [&](std::string text) {
    const std::lock_guard<std::mutex> lock(mutex);
    seen.push_back(std::move(text));
  };
  const auto has = [&](const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex);
    return std::ranges::find(seen, text) != seen.end();
  };
  ranks[0].register_membership_hook([&](const MembershipChange& change) { say(cat(enum_name(change.phase), " ", change.uuid)); });
  become(ranks, {0, 1});
  HookHandle veto = ranks[0].register_pre_hook([&](const CollectiveEvent& event) {
    say(cat("before ", enum_name(event.collective.kind)));
    if (event.collective.kind == CollectiveKind::Broadcast) throw ArgumentError("vetoed");
  });
  ranks[0].register_post_hook([&](const CollectiveEvent& event) { say(cat("issued ", event.sequence)); });
  ranks[0].register_completion_hook([&](const CollectiveEvent& event) { say(cat("ended ", event.sequence, " ", enum_name(event.state))); });
  ranks[0].register_abort_hook([&](const AbortEvent& event) { say(cat("aborted ", event.generation)); });
  const Tensor x = Tensor::allocate(Shape{1}, DType::F32);
  CHECK(message_of([&] { ranks[0].broadcast(x, 0); }) == "vetoed");
  check_sum(ranks, {0, 1});
  veto.remove();
  const Work work = ranks[0].all_reduce(x);
  std::atomic<bool> blocked{false}, told{false};
  work.then([&](const Work& ended) {
    told = ended.state() == WorkState::Cancelled;
    try {
      ranks[0].await_generation(0, milliseconds(1));
    } catch (const WouldBlockError&) {
      blocked = true;
    }
  });
  ranks[0].abort("enough");
  for (int i = 0; i < 1000 && !(has("aborted 1") && told); ++i) std::this_thread::sleep_for(milliseconds(5));
  for (const char* text : {"open 1", "promised 1", "commit 1", "install 1", "before broadcast", "before all_reduce", "issued 2",
                           "ended 2 success", "aborted 1", "ended 3 cancelled"}) {
    CAPTURE(text);
    CHECK(has(text));
  }
  CHECK(told);
  CHECK(blocked);
}

}  // namespace
}  // namespace resilin::dist
