// tests/dist/agent/first_cause_test.cpp -- which of several deaths is the cause, and the words for ends.
#include "resilin/dist/agent/first_cause.h"

#include <signal.h>
#include <sys/wait.h>

#include <doctest/doctest.h>

#include "resilin/dist/launch/rank_info.h"

#include "tests/support/child.h"

namespace resilin::dist {
namespace {

Death death(i64 rank, int at_ms, int code, int signal) {
  Death result;
  result.rank = rank;
  result.at = std::chrono::milliseconds(at_ms);
  result.end.kind = signal != 0 ? ProcessEnd::Kind::Signalled : ProcessEnd::Kind::Exited;
  result.end.code = code;
  result.end.signal = signal;
  return result;
}

i64 cause(const std::vector<Death>& deaths) { return deaths[first_cause(deaths)].rank; }

TEST_CASE("the strongest evidence wins, not the first message") {
  const Death gave_up = death(0, 0, 1, 0);
  const Death crashed = death(1, 50, 0, SIGSEGV);
  const Death told = death(2, 20, 0, SIGTERM);
  const Death lost_store = death(3, 1, kExitStoreLost, 0);
  Death blamed = death(4, 0, 1, 0);
  blamed.reported_other = true;
  Death silent = death(5, 0, 0, 0);
  silent.evidence = Evidence::Heartbeat;
  Death hungry = death(6, 90, 0, SIGKILL);
  hungry.end.out_of_memory = true;
  CHECK(cause({gave_up, crashed}) == 1);
  CHECK(cause({told, gave_up}) == 0);
  CHECK(cause({blamed, lost_store, gave_up}) == 0);
  CHECK(cause({silent, lost_store}) == 3);
  CHECK(cause({crashed, hungry, gave_up}) == 6);
  CHECK(cause({silent}) == 5);
}

TEST_CASE("of equal evidence the earliest wins") {
  CHECK(cause({death(3, 9, 0, SIGKILL), death(1, 4, 0, SIGABRT), death(2, 5, 0, SIGBUS)}) == 1);
}

TEST_CASE("ends of real processes are told in words") {
  const auto end_of = [](int signal, int code) {
    const pid_t child = fork();
    if (child == 0) {
      ::signal(signal, SIG_DFL);  // the test program's own handlers are not the child's
      signal != 0 ? static_cast<void>(kill(getpid(), signal)) : _exit(code);
      pause();
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    ProcessEnd end = process_end_of(status);
    end.dumped_core = false;  // depends on the machine's limits
    return end;
  };
  CHECK(describe(end_of(0, 3)) == "exited with code 3");
  CHECK(exit_code_of(end_of(0, 3)) == 3);
  CHECK(describe(end_of(SIGKILL, 0)) == "was killed by SIGKILL (Killed)");
  CHECK(exit_code_of(end_of(SIGKILL, 0)) == 137);
  CHECK(describe(end_of(SIGTERM, 0)) == "was killed by SIGTERM (Terminated)");
  CHECK(describe(end_of(0, 75)) == "exited with code 75: it waited for the store in vain");
  ProcessEnd hungry = end_of(SIGKILL, 0);
  hungry.out_of_memory = true;
  CHECK(describe(hungry) == "was killed by the kernel because memory ran out (SIGKILL)");
  CHECK(signal_name(SIGRTMIN + 6) != "");
}

}  // namespace
}  // namespace resilin::dist
