// tests/dist/agent/machine_test.cpp -- the agent's decisions without processes: restarts, shrinking, evictions, faults, the end.
#include "resilin/dist/agent/machine.h"

#include <algorithm>
#include <string>
#include <vector>

#include <signal.h>

#include <doctest/doctest.h>

#include "resilin/base/reflect.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ProcessEnd exited(int code) {
  ProcessEnd end;
  end.kind = ProcessEnd::Kind::Exited;
  end.code = code;
  return end;
}

ProcessEnd killed_by(int signal) {
  ProcessEnd end;
  end.kind = ProcessEnd::Kind::Signalled;
  end.signal = signal;
  return end;
}

/// A machine whose actions are kept as lines of text.
struct Play {
  explicit Play(const AgentOptions& options) : machine(options) { tell(Begin{}); }

  void tell(const AgentEvent& event) {
    for (const AgentAction& action : machine.step(now, event)) {
      std::visit([this](const auto& value) { note(value); }, action);
    }
  }
  /// Lets time pass, with a Tick whenever the machine asked for one.
  void pass(Moment time) {
    const Moment end = now + time;
    while (machine.deadline() && *machine.deadline() <= end) {
      now = std::max(now, *machine.deadline());
      tell(Tick{});
    }
    now = end;
  }
  bool did(const std::string& line) const { return std::find(lines.begin(), lines.end(), line) != lines.end(); }
  int count(const std::string& begin) const {
    return static_cast<int>(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(begin); }));
  }
  std::string said() const {
    std::string text;
    for (const std::string& line : lines) {
      if (line.starts_with("say ")) text += line.substr(4) + "\n";
    }
    return text;
  }

  void note(const Spawn& spawn) { lines.push_back(cat("spawn ", spawn.slot, " life ", spawn.life)); }
  void note(const SendSignal& order) { lines.push_back(cat(signal_name(order.signal), " to ", order.slot, " life ", order.life)); }
  void note(const Publish& news) { lines.push_back(cat("publish ", news.slot, " ", enum_name(news.state), ": ", news.text)); }
  void note(const Say& say) { lines.push_back(cat("say ", say.text)); }
  void note(const Fail& failure) { lines.push_back(cat("fail ", failure.reason)); }
  void note(const Finish& finish) { lines.push_back(cat("finish ", finish.exit_code)); }

  AgentMachine machine;
  Moment now = seconds(100);
  std::vector<std::string> lines;
};

AgentOptions options_of(i64 ranks, Policy policy, i64 max_restarts = 0) {
  AgentOptions options;
  options.local_ranks = ranks;
  options.policy = policy;
  options.max_restarts = max_restarts;
  return options;
}

TEST_CASE("a job whose ranks all succeed ends with 0") {
  Play play(options_of(2, Policy::Respawn));
  CHECK(play.did("spawn 0 life 0"));
  CHECK(play.did("spawn 1 life 0"));
  play.tell(Exited{1, 0, exited(0), "", false});
  CHECK_FALSE(play.machine.finished());
  play.tell(Exited{0, 0, exited(0), "", false});
  CHECK(play.did("finish 0"));
  CHECK_FALSE(play.machine.deadline().has_value());
}

TEST_CASE("only the dead rank is started again, at once") {
  Play play(options_of(3, Policy::Respawn, 1));
  play.tell(Exited{1, 0, killed_by(SIGKILL), "", false});
  CHECK(play.did("spawn 1 life 1"));
  CHECK(play.count("spawn") == 4);
  CHECK(play.did("publish 1 dead: rank 1 was killed by SIGKILL (Killed)"));
  play.pass(seconds(1));
  CHECK(play.said() == "incident 1: rank 1 was killed by SIGKILL (Killed)\n");
  for (i64 slot = 0; slot < 3; ++slot) play.tell(Exited{slot, slot == 1 ? 1 : 0, exited(0), "", false});
  CHECK(play.did("finish 0"));
}

TEST_CASE("what is heard of an earlier life counts for nothing") {
  Play play(options_of(1, Policy::Respawn, 1));
  play.tell(Exited{0, 0, exited(1), "", false});
  REQUIRE(play.did("spawn 0 life 1"));
  play.tell(Exited{0, 0, exited(1), "", false});
  play.tell(Evict{0, 0, "late"});
  play.tell(Evict{7, 0, "no such slot"});
  CHECK(play.count("spawn") == 2);
  CHECK(play.count("SIG") == 0);
}

TEST_CASE("without restarts left the job ends, with the first cause as its exit code") {
  Play play(options_of(3, Policy::Respawn));
  // The consequence is heard first: within 100 ms the cause comes.
  play.tell(Exited{2, 0, exited(1), "connection to rank 0 lost", true});
  play.now += milliseconds(40);
  play.tell(Exited{0, 0, killed_by(SIGSEGV), "", false});
  CHECK(play.said().empty());
  play.pass(milliseconds(60));
  CHECK(
      play.said() ==
      "incident 1: rank 0 was killed by SIGSEGV (Segmentation fault); rank 2 exited with code 1; it says: connection to rank 0 lost (40 ms "
      "earlier)\n");
  CHECK(play.did("fail rank 0 was killed by SIGSEGV (Segmentation fault)"));
  CHECK(play.did("SIGTERM to 1 life 0"));
  CHECK_FALSE(play.did("SIGKILL to 1 life 0"));
  play.tell(Exited{1, 0, killed_by(SIGTERM), "", false});
  CHECK(play.did("finish 139"));
}

TEST_CASE("who does not end in the grace is killed") {
  Play play(options_of(2, Policy::Respawn));
  play.tell(Exited{0, 0, exited(3), "", false});
  play.pass(milliseconds(100));
  CHECK(play.did("SIGTERM to 1 life 0"));
  play.pass(seconds(29));
  CHECK_FALSE(play.did("SIGKILL to 1 life 0"));
  play.pass(seconds(2));
  CHECK(play.did("SIGKILL to 1 life 0"));
  play.tell(Exited{1, 0, killed_by(SIGKILL), "", false});
  CHECK(play.did("finish 3"));
}

TEST_CASE("a shrinking job goes on while it has enough ranks") {
  AgentOptions options = options_of(3, Policy::Shrink);
  options.min_ranks = 2;
  Play play(options);
  play.tell(Exited{0, 0, killed_by(SIGKILL), "", false});
  play.pass(seconds(1));
  CHECK(play.count("spawn") == 3);
  CHECK(play.count("SIG") == 0);
  SUBCASE("and succeeds with them") {
    play.tell(Exited{1, 0, exited(0), "", false});
    play.tell(Exited{2, 0, exited(0), "", false});
    CHECK(play.did("finish 0"));
  }
  SUBCASE("and fails without") {
    play.tell(Exited{1, 0, killed_by(SIGABRT), "", false});
    play.pass(seconds(1));
    CHECK(play.did("SIGTERM to 2 life 0"));
    play.tell(Exited{2, 0, exited(0), "", false});
    CHECK(play.did("finish 134"));
  }
}

TEST_CASE("a rank that leaves in good order has not failed, whatever its exit code") {
  Play play(options_of(2, Policy::Respawn, 5));
  play.tell(Beat{1, 0, 10, 4, true});
  play.tell(Exited{1, 0, killed_by(SIGTERM), "", false});
  CHECK(play.did("publish 1 left: was killed by SIGTERM (Terminated)"));
  CHECK(play.count("spawn") == 2);
  play.tell(Exited{0, 0, exited(0), "", false});
  CHECK(play.did("finish 0"));
}

TEST_CASE("an evicted rank is reaped before its successor starts") {
  Play play(options_of(2, Policy::Respawn, 1));
  play.tell(Evict{1, 0, "it does not answer"});
  CHECK(play.did("SIGKILL to 1 life 0"));
  CHECK(play.did("publish 1 evicted: it does not answer"));
  CHECK(play.count("spawn 1") == 1);
  play.tell(Evict{1, 0, "twice"});
  CHECK(play.count("SIGKILL") == 1);
  play.tell(Exited{1, 0, killed_by(SIGKILL), "", false});
  CHECK(play.did("spawn 1 life 1"));
  play.pass(seconds(1));
  CHECK(play.said() == "incident 1: rank 1 was evicted: it does not answer\n");
}

TEST_CASE("a rank that the lineage goes on without is killed, unless it goes in good order") {
  Play play(options_of(2, Policy::Respawn, 2));
  play.tell(Beat{0, 0, 1, 1, true});
  play.tell(Evict{0, 0, "generation 5 goes on without it", true});
  CHECK(play.count("SIGKILL") == 0);
  play.tell(Evict{1, 0, "generation 5 goes on without it", true});
  CHECK(play.did("SIGKILL to 1 life 0"));
  play.tell(Evict{0, 0, "somebody wants it"});
  CHECK(play.did("SIGKILL to 0 life 0"));
}

TEST_CASE("a rank is published as running when its process runs") {
  Play play(options_of(1, Policy::Respawn, 1));
  CHECK(play.count("publish 0 running") == 0);
  play.tell(Spawned{0, 0});
  CHECK(play.did("publish 0 running: started"));
  play.tell(Exited{0, 0, exited(1), "", false});
  play.tell(Spawned{0, 0});
  CHECK(play.count("publish 0 running") == 1);
  play.tell(Spawned{0, 1});
  CHECK(play.did("publish 0 running: started again"));
}

TEST_CASE("a silent rank is suspected once, and no more when it beats again") {
  Play play(options_of(2, Policy::Respawn));
  for (int i = 0; i < 10; ++i) {
    play.tell(Beat{0, 0, i, 0, false});
    play.tell(Beat{1, 0, i, 0, false});
    play.pass(milliseconds(200));
  }
  CHECK(play.count("publish 1 suspected") == 0);
  for (int i = 0; i < 20; ++i) {
    play.tell(Beat{0, 0, 10 + i, 0, false});
    play.pass(milliseconds(200));
  }
  CHECK(play.count("publish 1 suspected: is silent for 1") == 1);
  CHECK(play.count("publish 0 suspected") == 0);
  CHECK(play.count("SIG") == 0);  // suspicion is not proof
  play.tell(Beat{1, 0, 9, 0, false});
  CHECK(play.did("publish 1 running: beats again"));
}

TEST_CASE("a rank that never beat is never suspected") {
  Play play(options_of(2, Policy::Respawn));
  play.tell(Beat{0, 0, 1, 0, false});
  for (int i = 0; i < 50; ++i) {
    play.tell(Beat{0, 0, 1, 0, false});
    play.pass(milliseconds(200));
  }
  CHECK(play.count("publish 1 suspected") == 0);
}

TEST_CASE("an agent that was held up accuses nobody") {
  Play play(options_of(1, Policy::Respawn));
  play.tell(Beat{0, 0, 1, 0, false});
  play.now += seconds(10);  // no Tick in between: the agent did not run
  play.tell(Tick{});
  CHECK(play.count("publish 0 suspected") == 0);
  play.pass(milliseconds(400));
  CHECK(play.count("publish 0 suspected") == 0);
  play.pass(seconds(2));
  CHECK(play.count("publish 0 suspected") == 1);
}

TEST_CASE("a stuck rank is evicted when another waits for it, a slow one never") {
  AgentOptions options = options_of(3, Policy::Respawn, 1);
  options.stuck_timeout = seconds(5);
  Play play(options);
  for (int i = 0; i < 100; ++i) {
    play.tell(Beat{0, 0, i, 50, false});
    play.tell(Beat{1, 0, 7, 20, false});                                       // does not move
    play.tell(Beat{2, 0, 7, static_cast<std::uint64_t>(20 + i / 10), false});  // moves, slowly
    play.pass(milliseconds(200));
    if (play.count("SIGKILL") > 0) break;
  }
  CHECK(play.count("publish 1 evicted: it is stuck in step 7 before collective 50 for 5") == 1);
  CHECK(play.count("SIGKILL") == 1);
}

TEST_CASE("faults strike in their step, once, at a time that the seed decides") {
  AgentOptions options = options_of(3, Policy::Respawn, 3);
  options.chaos = parse_chaos("kill:2@50;stop:1@10,3s;seed=7");
  const auto play_to = [&options](Play& play) {
    for (i64 step = 0; step < 60; ++step) {
      for (i64 slot = 0; slot < 3; ++slot) play.tell(Beat{slot, 0, step, 0, false});
      if (play.count("SIGKILL to 2") > 0) return step;
      play.pass(milliseconds(100));
      if (play.count("SIGKILL to 2") > 0) return step;
    }
    return i64{-1};
  };
  Play play(options);
  CHECK(play_to(play) == 50);
  CHECK(play.count("SIGSTOP to 1") == 1);
  CHECK(play.count("SIGCONT to 1") == 1);
  CHECK(play.count("SIGKILL") == 1);
  play.tell(Exited{2, 0, killed_by(SIGKILL), "", false});
  play.tell(Beat{2, 1, 55, 0, false});
  play.pass(seconds(1));
  CHECK(play.count("SIGKILL") == 1);
  CHECK(play.said().find("rank 2 was killed by SIGKILL (Killed), injected by kill:2@50") != std::string::npos);
  Play again(options);
  play_to(again);
  CHECK(std::equal(again.lines.begin(), again.lines.end(), play.lines.begin()));
}

TEST_CASE("a signal to the agent goes to the ranks; a second one kills them") {
  Play play(options_of(2, Policy::Respawn, 9));
  play.tell(Stop{SIGINT, 130, "the agent received SIGINT"});
  CHECK(play.did("SIGINT to 0 life 0"));
  CHECK(play.did("SIGCONT to 0 life 0"));
  play.tell(Exited{0, 0, killed_by(SIGINT), "", false});
  CHECK(play.count("spawn") == 2);
  play.tell(Stop{SIGINT, 130, "the agent received SIGINT"});
  CHECK(play.did("SIGKILL to 1 life 0"));
  play.tell(Exited{1, 0, killed_by(SIGKILL), "", false});
  CHECK(play.did("finish 130"));
}

TEST_CASE("a program that cannot be started fails the job with 127 and the reason") {
  Play play(options_of(1, Policy::Respawn));
  play.tell(SpawnFailed{0, "spawn: No such file or directory: nothing"});
  play.pass(seconds(1));
  CHECK(play.said().find("it says: spawn: No such file or directory: nothing") != std::string::npos);
  CHECK(play.did("finish 127"));
}

TEST_CASE("whatever comes in whatever order, the machine ends every life it began and starts none after the end") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    const auto draw = [&state](std::uint64_t below) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return (state >> 33) % below;
    };
    AgentOptions options = options_of(3, draw(2) == 0 ? Policy::Shrink : Policy::Respawn, static_cast<i64>(draw(4)));
    options.chaos = parse_chaos("kill:0@3;stop:1@2,1s");
    Play play(options);
    std::vector<i64> lives(3, 0);
    std::vector<bool> runs(3, true);
    for (int event = 0; event < 300 && !play.machine.finished(); ++event) {
      const i64 slot = static_cast<i64>(draw(3));
      const std::size_t at = static_cast<std::size_t>(slot);
      switch (draw(6)) {
        case 0: play.tell(Beat{slot, lives[at], static_cast<i64>(draw(6)), draw(9), draw(40) == 0}); break;
        case 1: play.tell(Evict{slot, lives[at], "drawn"}); break;
        case 2:
          if (draw(20) == 0) play.tell(Stop{SIGTERM, 143, "drawn"});
          break;
        case 3:
          if (runs[at] && draw(4) == 0) {
            runs[at] = false;
            const int before = play.count(cat("spawn ", slot));
            play.tell(Exited{slot, lives[at], draw(2) == 0 ? exited(static_cast<int>(draw(3))) : killed_by(SIGKILL), "", false});
            if (play.count(cat("spawn ", slot)) > before) {
              runs[at] = true;
              ++lives[at];
            }
          }
          break;
        default: play.pass(milliseconds(static_cast<i64>(draw(300))));
      }
    }
    // Whoever still runs ends; then the machine must too.
    play.tell(Stop{SIGTERM, 143, "the end"});
    for (std::size_t slot = 0; slot < 3; ++slot) {
      if (runs[slot]) play.tell(Exited{static_cast<i64>(slot), lives[slot], killed_by(SIGTERM), "", false});
    }
    play.pass(seconds(1));
    CHECK(play.machine.finished());
    CHECK(play.count("finish") == 1);
    CHECK(play.lines.back().starts_with("finish"));
    const std::size_t lines = play.lines.size();
    play.tell(Begin{});
    play.tell(Tick{});
    CHECK(play.lines.size() == lines);
  }
}

}  // namespace
}  // namespace resilin::dist
