// tests/dist/group/scenario_threads_test.cpp -- calls that come at the wrong time or at once: typed errors, no deadlock, and a group that works.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>
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

Tensor ones(i64 count = 4) {
  const Tensor x = Tensor::allocate(Shape{count}, DType::F32);
  for (i64 i = 0; i < count; ++i) static_cast<float*>(x.data())[i] = 1;
  return x;
}

/// Everybody gives ones.
void check_sum(Ranks& ranks, const std::vector<int>& processes) {
  ranks.run(processes, [&](int process, ProcessGroup& group) {
    const Tensor x = ones();
    group.all_reduce(x).wait(milliseconds(10'000));
    const float got = static_cast<float*>(x.data())[3];
    if (got != static_cast<float>(processes.size())) throw std::runtime_error(cat("process ", process, ": ", got));
  });
}

ReconfigureOptions of_all(Ranks& ranks, milliseconds timeout) {
  ReconfigureOptions options{.uuid = ranks.next_uuid(), .handles = {}, .timeout = timeout};
  for (const int process : ranks.all()) options.handles.push_back(ranks[process].reconfigure_handle());
  return options;
}

/// Comes back when the callbacks that wait now have run.
void finish_callbacks(const Work& ended) {
  std::promise<void> done;
  ended.then([&](const Work&) { done.set_value(); });
  done.get_future().wait();
}

/// "ok", or the kind of what the call throws; a kind that it must not throw ends the test.
std::string outcome_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ReconfigureError&) {
    return "refused";
  } catch (const WouldBlockError&) {
    return "would block";
  } catch (const ArgumentError&) {
    return "argument";  // of a list that was made before another thread's attempt changed the handles
  }
  return "ok";
}

TEST_CASE("reconfigure from two threads at once: one attempt goes on, the others are refused, and the group works") {
  for (int round = 0; round < 30; ++round) {
    CAPTURE(round);
    Ranks ranks(2);
    ranks.reconfigure({0, 1});
    const ReconfigureOptions first = of_all(ranks, milliseconds(300)), second = of_all(ranks, milliseconds(300));
    const bool same = round % 2 == 0;
    std::map<int, std::vector<std::string>> outcomes;
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (const int process : {0, 1}) {
      for (const ReconfigureOptions* const options : {&first, same ? &first : &second}) {
        threads.emplace_back([&, process, options] {
          const std::string outcome = outcome_of([&] { ranks[process].reconfigure(*options); });
          const std::lock_guard<std::mutex> lock(mutex);
          outcomes[process].push_back(outcome);
        });
      }
    }
    for (std::thread& thread : threads) thread.join();
    for (const int process : {0, 1}) {
      CHECK(outcomes[process].size() == 2);
      if (same) CHECK(std::ranges::count(outcomes[process], "ok") == 1);
    }
    ranks.reconfigure({0, 1});
    check_sum(ranks, {0, 1});
  }
}

TEST_CASE("reconfigure from hooks and callbacks: refused where it would wait for itself, allowed in the caller's thread") {
  Ranks ranks(2);
  std::mutex mutex;
  std::map<std::string, std::string> outcomes;
  const auto try_in = [&](const std::string& where) {
    const std::string outcome = outcome_of([&] { ranks[0].reconfigure({.uuid = 77, .handles = {ranks[0].reconfigure_handle()}}); });
    const std::lock_guard<std::mutex> lock(mutex);
    outcomes.try_emplace(where, outcome);
  };
  HookHandle membership = ranks[0].register_membership_hook([&](const MembershipChange&) { try_in("membership"); });
  HookHandle completion = ranks[0].register_completion_hook([&](const CollectiveEvent&) { try_in("completion"); });
  HookHandle aborted = ranks[0].register_abort_hook([&](const AbortEvent&) { try_in("abort"); });
  ranks.reconfigure({0, 1});
  check_sum(ranks, {0, 1});
  const Work work = ranks[0].all_reduce(ones());
  work.then([&](const Work&) { try_in("then"); });
  ranks[0].abort("the test says so");
  const auto all_there = [&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return outcomes.size() == 4;
  };
  for (int i = 0; i < 1000 && !all_there(); ++i) std::this_thread::sleep_for(milliseconds(5));
  REQUIRE(all_there());
  for (HookHandle* const hook : {&membership, &completion, &aborted}) hook->remove();
  finish_callbacks(work);
  for (const auto& one : outcomes) CHECK_MESSAGE(one.second == "would block", one.first);

  HookHandle before = ranks[1].register_pre_hook(
      [&](const CollectiveEvent&) { ranks[1].reconfigure({.uuid = 78, .handles = {ranks[1].reconfigure_handle()}}); });
  CHECK_THROWS_AS(ranks[1].all_reduce(ones()), CancelledError);  // of the generation that the hook has replaced
  before.remove();
  check_sum(ranks, {1});
  ranks.reconfigure({0, 1});
  check_sum(ranks, {0, 1});
}

TEST_CASE("reconfigure of a group that follows a lineage is refused, not waited for") {
  Ranks ranks(1, 0, [](GroupOptions& options) { options.membership = Membership::Lineage; });
  const std::string message = message_of([&] { ranks[0].reconfigure({.uuid = 1, .handles = {ranks[0].reconfigure_handle()}}); });
  CHECK(message.find("follows the lineage of its job") != std::string::npos);
}

TEST_CASE("reconfigure while the group is destroyed ends") {
  for (int round = 0; round < 10; ++round) {
    Ranks ranks(2);
    ranks.reconfigure({0, 1});
    const ReconfigureOptions options = of_all(ranks, milliseconds(10'000));
    std::atomic<bool> ended{false};
    std::thread waiting([&] {
      CHECK_THROWS_AS(ranks[0].reconfigure(options), DistError);
      ended = true;
    });
    std::this_thread::sleep_for(milliseconds(round));
    ranks[0].destroy();
    waiting.join();
    CHECK(ended);
  }
}

/// A store in which the answer to a member's READY is held back until the test lets it go.
class HoldingStore final : public Store {
 public:
  explicit HoldingStore(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}
  Reply ask(Request request, std::stop_token stop) override {
    for (const Write& write : request.writes) {
      if (holds && write.key.find("/ready/") != std::string::npos) {
        while (holds && !stop.stop_requested()) std::this_thread::sleep_for(milliseconds(1));
        if (stop.stop_requested()) throw StoreError("stopped");
      }
    }
    return inner_->ask(std::move(request), std::move(stop));
  }
  std::atomic<bool> holds{false};

 private:
  const std::shared_ptr<Store> inner_;
};

TEST_CASE("a collective that is started while members agree waits, and runs when the old generation goes on") {
  std::vector<std::shared_ptr<HoldingStore>> stores;
  Ranks ranks(2, 0, [&](GroupOptions& options) {
    stores.push_back(std::make_shared<HoldingStore>(options.store));
    options.store = stores.back();
  });
  ranks.reconfigure({0, 1});
  for (const std::shared_ptr<HoldingStore>& store : stores) store->holds = true;
  const ReconfigureOptions options = of_all(ranks, milliseconds(500));
  std::atomic<int> promised{0};
  std::vector<HookHandle> hooks;
  for (const int process : {0, 1}) {
    hooks.push_back(ranks[process].register_membership_hook([&](const MembershipChange& change) {
      if (change.phase == MembershipPhase::Promised) ++promised;
    }));
  }
  std::thread attempt([&] { ranks.run([&](int, ProcessGroup& group) { CHECK_THROWS_AS(group.reconfigure(options), ReconfigureError); }); });
  for (int i = 0; i < 1000 && promised < 2; ++i) std::this_thread::sleep_for(milliseconds(1));
  CHECK(promised == 2);
  const Tensor x = ones(), y = ones();
  const Work mine = ranks[0].all_reduce(x), theirs = ranks[1].all_reduce(y);
  CHECK_THROWS_AS(mine.wait(milliseconds(50)), TimeoutError);
  CHECK(theirs.state() == WorkState::Running);
  attempt.join();
  mine.wait(milliseconds(10'000));
  theirs.wait(milliseconds(10'000));
  CHECK(static_cast<float*>(x.data())[0] == 2);
  for (HookHandle& hook : hooks) hook.remove();
  finish_callbacks(mine);
  for (const std::shared_ptr<HoldingStore>& store : stores) store->holds = false;
  ranks.reconfigure({0, 1});
  check_sum(ranks, {0, 1});
}

TEST_CASE("after an abort every operation raises, with the reason, until the group is reconfigured") {
  Ranks ranks(2);
  ranks.reconfigure({0, 1});
  ranks[1].abort("enough");
  const std::vector<std::function<void(ProcessGroup&)>> operations = {
      [](ProcessGroup& group) { group.all_reduce(ones()); },
      [](ProcessGroup& group) {
        group.all_reduce_coalesced({ones(), ones(2)});
      },
      [](ProcessGroup& group) { group.broadcast(ones(), 0); },
      [](ProcessGroup& group) { group.all_gather_single(ones(8), ones(4)); },
      [](ProcessGroup& group) { group.reduce_scatter_single(ones(2), ones(4)); },
      [](ProcessGroup& group) { group.barrier(); },
      [](ProcessGroup& group) { group.send(ones(), 1 - group.rank()); },
      [](ProcessGroup& group) { group.recv(ones(), 1 - group.rank()); },
      [](ProcessGroup& group) { group.lanes(1 - group.rank()); },
  };
  for (int i = 0; i < 2000 && !ranks[0].is_aborted(); ++i) std::this_thread::sleep_for(milliseconds(1));
  for (std::size_t i = 0; i < operations.size(); ++i) {
    CAPTURE(i);
    for (const int process : {0, 1}) {
      // A generation ends on the other rank a moment after it says that it does.
      std::string message = message_of([&] { operations[i](ranks[process]); });
      CHECK_MESSAGE(message.find("rank 1 aborted the group: enough") != std::string::npos, message);
    }
  }
  for (const int process : {0, 1}) CHECK_THROWS_AS(ranks[process].barrier(), CancelledError);
  ranks.reconfigure({0, 1});
  check_sum(ranks, {0, 1});
}

TEST_CASE("work: a wait may be repeated, and several threads may wait at once") {
  Ranks ranks(2);
  ranks.reconfigure({0, 1});
  for (int round = 0; round < 50; ++round) {
    const Tensor x = ones(), y = ones();
    const Work work = ranks[0].all_reduce(x);
    std::atomic<int> ended{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        if (i % 2 == 0) {
          work.wait();
        } else {
          work.wait(milliseconds(10'000));
        }
        work.wait();
        ended += work.is_success() ? 1 : 0;
      });
    }
    ranks[1].all_reduce(y).wait(milliseconds(10'000));
    for (std::thread& thread : threads) thread.join();
    CHECK(ended == 4);
    CHECK(static_cast<float*>(x.data())[0] == 2);
  }
}

TEST_CASE("work: after an abort it reports the error, at every wait, to all threads and callbacks") {
  Ranks ranks(2);
  ranks.reconfigure({0, 1});
  const Work work = ranks[0].all_reduce(ones());
  CHECK(work.exception() == nullptr);
  std::atomic<int> cancelled{0}, called{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      try {
        work.wait();
      } catch (const CancelledError& error) {
        if (std::string(error.what()).find("aborted the group: no more") != std::string::npos) ++cancelled;
      }
    });
  }
  work.then([&](const Work& ended) { called += ended.exception() != nullptr ? 1 : 0; });
  std::this_thread::sleep_for(milliseconds(10));
  ranks[0].abort("no more");
  for (std::thread& thread : threads) thread.join();
  CHECK(cancelled == 3);
  work.then([&](const Work& ended) { called += ended.exception() != nullptr ? 1 : 0; });
  for (int i = 0; i < 1000 && called < 2; ++i) std::this_thread::sleep_for(milliseconds(1));
  CHECK(called == 2);
  CHECK(work.is_completed());
  CHECK_FALSE(work.is_success());
  CHECK_THROWS_AS(work.wait(), CancelledError);
  CHECK_THROWS_AS(work.wait(milliseconds(1)), CancelledError);
  REQUIRE(work.exception() != nullptr);
  CHECK_THROWS_AS(std::rethrow_exception(work.exception()), CancelledError);
}

TEST_CASE("a first operation may time out, and ends then, not before") {
  Ranks ranks(2);
  ranks.reconfigure({0, 1});
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  const Work work = ranks[0].all_reduce(ones(), ReduceOp::Sum, milliseconds(150));
  std::this_thread::sleep_for(milliseconds(50));  // counts
  CHECK_THROWS_AS(work.wait(milliseconds(20)), TimeoutError);
  CHECK(work.state() == WorkState::Running);
  CHECK_THROWS_AS(work.wait(), TimeoutError);
  CHECK(std::chrono::steady_clock::now() - begin >= milliseconds(150));
  CHECK(std::chrono::steady_clock::now() - begin < milliseconds(5'000));
  CHECK(work.state() == WorkState::Failed);
}

}  // namespace
}  // namespace resilin::dist
