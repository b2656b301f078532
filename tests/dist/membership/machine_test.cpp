// tests/dist/membership/machine_test.cpp -- a member and a Coordinator by themselves, against the store's machine.
#include "resilin/dist/store/machine.h"

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/dist/membership/coordinator.h"
#include "resilin/dist/membership/member.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {
namespace {

/// A store that answers at once what it can.
struct Desk {
  template <class Machine, class StoreReplied>
  void serve(Machine& machine, std::uint64_t connection) {
    std::vector<StoreAnswer> mine;
    std::erase_if(answers, [&](const StoreAnswer& answer) {
      if (answer.connection == connection) mine.push_back(answer);
      return answer.connection == connection;
    });
    for (const StoreAnswer& answer : mine) machine.tell(StoreReplied{answer.id, answer.reply});
  }
  void ask(std::uint64_t connection, std::uint64_t id, const Request& request) {
    if (is_away) return;
    for (StoreAnswer& answer : store.step(RequestArrived{connection, id, request})) answers.push_back(std::move(answer));
  }
  void set(const std::string& key, const std::string& bytes) { ask(99, 1, {.op = StoreOp::Txn, .writes = {{.key = key, .bytes = bytes}}}); }
  template <class Value>
  Value read(const std::string& key) const {
    const StoreValue* const value = store.keys().find(key);
    return value == nullptr ? Value() : decode<Value>(value->bytes);
  }
  StoreMachine store;
  std::vector<StoreAnswer> answers;
  bool is_away = false;
};

struct LoneMember {
  LoneMember(Desk& its_desk, MemberOptions options) : desk(its_desk), member(options) { tell(member_event::Started{}); }
  void tell(const MemberEvent& event) {
    for (MemberAction& action : member.step(event)) {
      if (const member_action::AskStore* const order = std::get_if<member_action::AskStore>(&action)) {
        desk.ask(1, order->id, order->request);
      } else {
        done.push_back(std::move(action));
      }
    }
    desk.serve<LoneMember, member_event::StoreReplied>(*this, 1);
  }
  template <class Action>
  std::vector<Action> all() const {
    std::vector<Action> result;
    for (const MemberAction& action : done) {
      if (const Action* const one = std::get_if<Action>(&action)) result.push_back(*one);
    }
    return result;
  }
  Desk& desk;
  Member member;
  std::vector<MemberAction> done;
};

struct LoneCoordinator {
  LoneCoordinator(Desk& its_desk, CoordinatorOptions options) : desk(its_desk), coordinator(options) { tell(coordinator_event::Started{}); }
  void tell(const CoordinatorEvent& event) {
    for (const CoordinatorRequest& order : coordinator.step(event)) desk.ask(2, order.id, order.request);
    desk.serve<LoneCoordinator, coordinator_event::StoreReplied>(*this, 2);
  }
  /// The store tells what others wrote.
  void hear() { desk.serve<LoneCoordinator, coordinator_event::StoreReplied>(*this, 2); }
  Desk& desk;
  Coordinator coordinator;
};

constexpr std::uint64_t kBase = 4;

/// A lineage at generation 4 with the members 1, 2 and 3.
Desk lineage() {
  Desk desk;
  desk.set(kTopKey, encode(kBase));
  desk.set(kCurrentKey, encode(Current{.generation = kBase, .members = {1, 2, 3}}));
  desk.answers.clear();
  return desk;
}

std::vector<std::uint64_t> planned(const Desk& desk) {
  std::vector<std::uint64_t> instances;
  for (const Handle& handle : desk.read<Plan>(kPlanKey).handles) instances.push_back(handle.instance);
  return instances;
}

}  // namespace

TEST_CASE("an address is published when the mesh stands, and the others' are awaited only then") {
  Desk desk;
  LoneMember member(desk, {.instance = 1, .follows = false});
  member.tell(member_event::Reconfigure{7, {{1, 0}, {2, 0}}});
  REQUIRE(member.all<member_action::PrepareMesh>().size() == 1);
  CHECK(member.all<member_action::PrepareMesh>()[0].attempt.handles.size() == 2);
  CHECK_FALSE(desk.store.keys().find(address_key(7, 1)));
  member.tell(member_event::MeshPrepared{6, "of another attempt"});
  CHECK_FALSE(desk.store.keys().find(address_key(7, 1)));
  member.tell(member_event::MeshPrepared{7, "here"});
  REQUIRE(desk.store.keys().find(address_key(7, 1)));
  CHECK(desk.store.keys().find(address_key(7, 1))->bytes == "here");
  desk.set(address_key(7, 2), "there");
  desk.serve<LoneMember, member_event::StoreReplied>(member, 1);
  REQUIRE(member.all<member_action::Connect>().size() == 1);
  CHECK(member.all<member_action::Connect>()[0].address == "there");
}

TEST_CASE("a mesh that cannot be made ends the attempt with its reason, and nothing waits for it any more") {
  Desk desk;
  LoneMember member(desk, {.instance = 1, .follows = false});
  member.tell(member_event::Reconfigure{7, {{1, 0}, {2, 0}}});
  member.tell(member_event::MeshFailed{7, "no descriptor is left"});
  const std::vector<member_action::Finished> finished = member.all<member_action::Finished>();
  REQUIRE(finished.size() == 1);
  CHECK(finished[0].verdict == Verdict::Abort);
  CHECK(finished[0].text == "attempt 7 was aborted: no_mesh: instances [1]: no descriptor is left");
  CHECK(member.all<member_action::DropMesh>().size() == 1);
  // What the store still waits with it has forgotten.
  CHECK(desk.store.waiting_count() <= member.all<member_action::ForgetStore>().size());
}

TEST_CASE("a follower goes on without its store while its generation works, and leaves after the grace when that has failed") {
  Desk desk;
  LoneCoordinator coordinator(desk, {.first_size = 1});
  LoneMember member(desk, {.instance = 1, .store_grace_ms = 3000});
  coordinator.hear();
  desk.serve<LoneMember, member_event::StoreReplied>(member, 1);
  REQUIRE(member.all<member_action::PrepareMesh>().size() == 1);
  const std::uint64_t uuid = member.all<member_action::PrepareMesh>()[0].attempt.uuid;
  member.tell(member_event::MeshPrepared{uuid, "here"});
  member.tell(member_event::AdmissionClosed{uuid, ""});
  REQUIRE(member.all<member_action::Install>().size() == 1);
  const std::uint64_t generation = member.all<member_action::Install>()[0].attempt.generation;
  member.tell(member_event::TimePassed{1000});
  desk.is_away = true;
  member.tell(member_event::StoreLost{});
  member.tell(member_event::TimePassed{100'000});
  CHECK(member.all<member_action::Leave>().empty());
  member.tell(member_event::GenerationFailed{generation, {}});
  member.tell(member_event::TimePassed{102'999});
  CHECK(member.all<member_action::Leave>().empty());
  CHECK(member.member.next_deadline_ms() == 103'000);
  member.tell(member_event::TimePassed{103'000});
  REQUIRE(member.all<member_action::Leave>().size() == 1);
  CHECK(member.all<member_action::Leave>()[0].store_is_gone);
}

TEST_CASE("a store that is back in the grace keeps a follower, and one without a first generation waits no longer than the grace") {
  Desk desk;
  LoneMember member(desk, {.instance = 1, .store_grace_ms = 3000});
  member.tell(member_event::StoreLost{});
  member.tell(member_event::TimePassed{2999});
  member.tell(member_event::StoreBack{});
  member.tell(member_event::TimePassed{10'000});
  CHECK(member.all<member_action::Leave>().empty());
  member.tell(member_event::StoreLost{});
  member.tell(member_event::TimePassed{13'000});
  CHECK(member.all<member_action::Leave>().size() == 1);
}

TEST_CASE("an attempt that was asked for while the store was away ends at its deadline") {
  Desk desk;
  LoneMember member(desk, {.instance = 1, .follows = false, .attempt_timeout_ms = 1500});
  desk.is_away = true;
  member.tell(member_event::StoreLost{});
  member.tell(member_event::Reconfigure{7, {{1, 0}, {2, 0}}});
  member.tell(member_event::TimePassed{1499});
  CHECK(member.all<member_action::Finished>().empty());
  member.tell(member_event::TimePassed{1500});
  REQUIRE(member.all<member_action::Finished>().size() == 1);
  CHECK(member.all<member_action::Finished>()[0].text == "the store cannot be reached");
}

TEST_CASE("a suspected member's generation is revoked before there is a plan, which leaves it out") {
  Desk desk = lineage();
  LoneCoordinator coordinator(desk, {});
  const std::uint64_t before = desk.store.keys().last_version();
  coordinator.tell(coordinator_event::SuspectsAre{{9}});
  CHECK(desk.store.keys().last_version() == before);  // no member
  coordinator.tell(coordinator_event::SuspectsAre{{9, 2}});
  const Revocation revocation = desk.read<Revocation>(revoke_key(kBase));
  CHECK(revocation.origin == 0);
  CHECK(revocation.lost == std::vector<std::uint64_t>{2});
  CHECK(desk.store.keys().find(revoke_key(kBase))->version == before + 1);
  CHECK(planned(desk) == std::vector<std::uint64_t>{1, 3});
}

TEST_CASE("one that left in good order is left out, and nothing is revoked for it") {
  Desk desk = lineage();
  LoneCoordinator coordinator(desk, {});
  coordinator.tell(coordinator_event::SuspectsAre{{}, {3}});
  CHECK_FALSE(desk.store.keys().find(revoke_key(kBase)));
  CHECK(planned(desk) == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("when all members have ended, whoever waits to join is told so, and not before") {
  Desk desk = lineage();
  LoneCoordinator coordinator(desk, {});
  coordinator.tell(coordinator_event::SuspectsAre{.instances = {1, 2}, .left = {3}, .ended = {1, 2}});
  CHECK_FALSE(desk.store.keys().find(revoke_key(0)));
  coordinator.tell(coordinator_event::SuspectsAre{.instances = {1, 2}, .left = {3}, .ended = {1, 2, 3}});
  CHECK(desk.read<Revocation>(revoke_key(0)).generation == kBase);
}

TEST_CASE("a first generation waits for all, but for those who will not come") {
  Desk desk;
  LoneCoordinator coordinator(desk, {.first_size = 3});
  desk.ask(99, 1, {.op = StoreOp::Append, .keys = {kJoinersKey}, .bytes = encode(std::uint64_t{1}) + encode(std::uint64_t{3})});
  coordinator.hear();
  coordinator.tell(coordinator_event::SuspectsAre{{2}});
  CHECK(planned(desk).empty());  // its next life may come
  coordinator.tell(coordinator_event::SuspectsAre{.instances = {2}, .lacking = 1});
  CHECK(planned(desk) == std::vector<std::uint64_t>{1, 3});
}

TEST_CASE("a joiner that is left out through no fault of its own is taken in by the generation after") {
  Desk desk;
  LoneCoordinator coordinator(desk, {.first_size = 3});
  for (const std::uint64_t instance : {1, 2, 3}) {
    desk.ask(99, 1, {.op = StoreOp::Append, .keys = {kJoinersKey}, .bytes = encode(instance)});
  }
  coordinator.hear();
  REQUIRE(planned(desk) == std::vector<std::uint64_t>{1, 2, 3});
  const auto end_attempt = [&](Verdict verdict) {
    Attempt attempt = desk.read<Attempt>(try_key(desk.read<Plan>(kPlanKey).uuid));
    attempt.verdict = verdict;
    if (verdict == Verdict::Abort) attempt.pairs = {{2, 3}};
    if (verdict == Verdict::Commit) desk.set(kCurrentKey, encode(Current{.generation = attempt.generation, .members = planned(desk)}));
    desk.set(try_key(attempt.uuid), encode(attempt));
    coordinator.hear();
  };
  end_attempt(Verdict::Abort);
  std::vector<std::uint64_t> members = planned(desk);
  REQUIRE(members.size() == 2);
  end_attempt(Verdict::Commit);
  members.push_back(members[1] == 2 ? 3 : 2);
  CHECK(planned(desk) == members);
}

TEST_CASE("a Coordinator leaves out whom another one revoked the generation for") {
  Desk desk = lineage();
  LoneCoordinator coordinator(desk, {});
  desk.set(revoke_key(kBase), encode(Revocation{kBase, 0, {1}}));
  coordinator.hear();
  CHECK(planned(desk) == std::vector<std::uint64_t>{2, 3});
}

TEST_CASE("a member that lost another gives detectors a moment to tell which of the two is gone") {
  Desk desk = lineage();
  LoneCoordinator coordinator(desk, {.gather_ms = 30});
  coordinator.tell(coordinator_event::TimePassed{1000});
  desk.set(revoke_key(kBase), encode(Revocation{kBase, 1, {2}}));
  coordinator.hear();
  CHECK(planned(desk).empty());
  CHECK(coordinator.coordinator.next_deadline_ms() == 1030);
  SUBCASE("one does") {
    coordinator.tell(coordinator_event::SuspectsAre{{1}});
    CHECK(planned(desk) == std::vector<std::uint64_t>{2, 3});
    CHECK(desk.read<Revocation>(revoke_key(kBase)).lost == std::vector<std::uint64_t>{1});
  }
  SUBCASE("none does") {
    coordinator.tell(coordinator_event::TimePassed{1030});
    CHECK(planned(desk) == std::vector<std::uint64_t>{1, 2, 3});
  }
}

}  // namespace resilin::dist
