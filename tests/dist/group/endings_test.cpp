// tests/dist/group/endings_test.cpp -- jobs some of whose ranks have finished when another one fails.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/text.h"
#include "resilin/dist/group/init.h"
#include "resilin/dist/group/process_group.h"
#include "resilin/dist/launch/rank_info.h"
#include "resilin/tensor/tensor.h"

#include "tests/support/launcher.h"

namespace resilin::dist {
namespace {

using launch::comes_true;
using launch::Launcher;

constexpr const char* kProgram = "a rank that ends as it is told";

struct End {
  int code = 0;
  std::string log;
  double after_ms = 0;
};

/// Of a job of three ranks, of which the last one fails.
End end_of_job(std::vector<std::string> flags, const std::string& mode) {
  const testing::TemporaryFolder out;
  flags.insert(flags.begin(), {"--standalone", "--nproc-per-node=3"});
  const double began_ms = launch::now_ms();
  Launcher launcher(out, launch::with_test_case(flags, mode, kProgram), "launcher", 50);
  const int code = launcher.wait();
  return {code, launcher.log(), launch::now_ms() - began_ms};
}

bool is_one_of(int code, const std::vector<int>& codes) { return std::ranges::find(codes, code) != codes.end(); }

constexpr const char* kNobodyIsLeft = "have ended, and nobody else takes one in";

TEST_CASE("a rank that fails when the others have finished: who is started again hears that nobody is left, and the job ends") {
  const End end = end_of_job({"--max-restarts=1"}, "fail-last");
  CAPTURE(end.log);
  CHECK(is_one_of(end.code, {3, 1}));  // of the first life, or of the second when that ended later than the first cause was known
  CHECK(end.log.find(kNobodyIsLeft) != std::string::npos);  // of which generation is a matter of who left when
  CHECK(end.after_ms < 30'000);
}

TEST_CASE("a rank that fails when the others have finished: a job that shrinks ends well, one that restarts nobody with its code") {
  const End shrunk = end_of_job({"--policy=shrink"}, "fail-last");
  CAPTURE(shrunk.log);
  CHECK(shrunk.code == 0);
  const End failed = end_of_job({}, "fail-last");
  CAPTURE(failed.log);
  CHECK(failed.code == 3);
}

TEST_CASE("ranks that finish while another is being started again: it hears that nobody is left, and the job ends") {
  const End end = end_of_job({"--max-restarts=1"}, "fail-first");
  CAPTURE(end.log);
  CHECK(is_one_of(end.code, {128 + SIGKILL, 1}));
  CHECK(end.log.find(kNobodyIsLeft) != std::string::npos);
  CHECK(end.after_ms < 30'000);
}

// What follows runs in ranks.

void write_pid(const std::string& path) {
  std::ofstream(path + ".new") << getpid();
  REQUIRE(rename((path + ".new").c_str(), path.c_str()) == 0);
}

/// The process that wrote the file has ended and was reaped.
bool is_gone(const std::string& path) {
  const std::string text = launch::read_or_empty(path);
  return !text.empty() && kill(std::stoi(text), 0) != 0;
}

void sum(ProcessGroup& group) {
  const Tensor x = Tensor::allocate(Shape{1}, DType::F32);
  *static_cast<float*>(x.data()) = 1;
  group.all_reduce(x).wait();
  REQUIRE(*static_cast<float*>(x.data()) == static_cast<float>(group.size()));
}

TEST_CASE("a rank that ends as it is told" * doctest::skip()) {
  alarm(45);
  const std::string mode = std::getenv("RESILIN_TEST_RANK"), out = std::getenv("OUT");
  const RankInfo info = *rank_info();
  const bool fails = info.rank == 2, is_again = info.restart_count > 0;
  const auto others_are_gone = [&] { return is_gone(out + "/0") && is_gone(out + "/1"); };
  if (is_again && mode == "fail-first") {
    write_pid(out + "/again");
    REQUIRE(comes_true(others_are_gone));
  }
  ProcessGroup group = init_process_group({.membership = Membership::Lineage});
  sum(group);
  if (fails && mode == "fail-last") {
    REQUIRE(comes_true(others_are_gone));
    _exit(3);
  }
  if (mode == "fail-first") {
    if (fails) raise(SIGKILL);
    group.await_generation(1, std::chrono::seconds(20));
    sum(group);
    REQUIRE(comes_true([&] { return access((out + "/again").c_str(), F_OK) == 0; }));
  }
  write_pid(cat(out, "/", info.rank));
  group.destroy();
}

}  // namespace
}  // namespace resilin::dist
