// tests/support/main.cpp -- the main function of every test program; a run in which no test ran has failed.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdio>

#include <unistd.h>

#include <doctest/doctest.h>

#include "tests/support/slowness.h"

namespace {

unsigned g_tests_run = 0;

constexpr const char* kOverTcp[] = {"*transport/ucx_*_test.cpp",    "*transport/ucx_test.cpp",    "*launch/partition_test.cpp",
                                    "*security/listeners_test.cpp", "*parallel/network_test.cpp", "*group/farewell_test.cpp"};

/// Counts the tests that pass the filters.
struct RunCounter : doctest::IReporter {
  explicit RunCounter(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& stats) override { g_tests_run = stats.numTestCasesPassingFilters; }
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("run_counter", 1, RunCounter);

}  // namespace

/// Of AddressSanitizer, where it is: its search for leaks would otherwise fail on the thread variables of libraries that are opened late.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "intercept_tls_get_addr=0"; }

/// Of ThreadSanitizer: tests fork while threads run, and doctest's own answer to a signal takes memory.
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "die_after_fork=0:report_signal_unsafe=0"; }

/// UCX 1.13 loses some bytes for each connection by shared memory to a process that is dead already.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libuct.so"; }

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  if (access("/sys/class/net/lo", F_OK) != 0) {
    std::fprintf(stderr, "not run: tests of UCX over TCP, since it finds interfaces in sysfs, which is not at /sys\n");
    for (const char* files : kOverTcp) context.addFilter("source-file-exclude", files);
  }
  if (resilin::testing::kSanitized) {
    std::fprintf(stderr,
                 "not run: 64 ranks on one host, which takes too long in instrumented code: each start copies the tables of its memory\n");
    context.addFilter("test-case-exclude", "real processes: 64 ranks*");
  }
  const int result = context.run();
  if (context.shouldExit()) return result;
  if (g_tests_run == 0) {
    std::fprintf(stderr, "no test ran: the filters exclude all of them\n");
    return 1;
  }
  return result;
}
