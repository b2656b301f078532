// tests/codegen/compile_test.cpp -- where compile() finds code: process, disk, pack, plug-in; over threads, forks and new processes.
#include "resilin/codegen/compile.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include <spawn.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/config.h"
#include "resilin/base/file.h"
#include "resilin/codegen/pack.h"

#include "tests/support/child.h"
#include "tests/support/nests.h"
#include "tests/support/temporary_folder.h"

namespace resilin {
namespace {

namespace fs = std::filesystem;
using config::ScopedConfig;
using testing::run_in_child;
using testing::TemporaryFolder;

/// A nest that no other test has: out[i] = in[i] + number.
loop::Nest make_nest(double number) {
  test::NestCase c;
  const int in = c.input(DType::F32, 1);
  const int out = c.output(DType::F32, 1);
  const Dim n = Dim::symbol('s', 0);
  c.nest.integer_count = 1;
  c.phase(n, true, test::block(loop::Store{out, test::i(0), c.load(in, test::i(0)) + number, {}}));
  return c.nest;
}

std::shared_ptr<const Code> compile_nest(double number) {
  const loop::Nest nest = make_nest(number);
  return compile(nest, print(nest));
}

/// in[k] + number for all k, computed by the code.
bool works(const Code& code, float number) {
  std::vector<float> in(100), out(100, -1);
  for (std::size_t k = 0; k < in.size(); ++k) in[k] = static_cast<float>(k);
  void* pointers[] = {in.data(), out.data()};
  const i64 size = 100;
  Status status;
  const Launch launch = {&kAbi, pointers, &size, nullptr, nullptr, 0, &status};
  code.phase(0)(&launch, 0, 100, nullptr);
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (out[k] != in[k] + number) return false;
  }
  return true;
}

/// An empty cache and no pack.
struct OwnCache {
  OwnCache() : dir("cache.dir", folder.path()), enabled("cache.enabled", "true"), pack("cache.pack", folder.path() + "/none") {}
  std::vector<fs::path> entries() const { return {fs::directory_iterator(folder.path()), fs::directory_iterator()}; }
  TemporaryFolder folder;
  ScopedConfig dir, enabled, pack;
};

bool maps_llvm() {
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>()};
  return text.find("LLVM") != std::string::npos || text.find("resilin_llvm") != std::string::npos;
}

/// Runs one test of this program in a new process with more environment.
int run_inner(const std::string& name, std::vector<std::string> environment) {
  const std::string filter = "--test-case=" + name;
  std::string program = "/proc/self/exe";
  std::string all = "--no-skip";
  char* const arguments[] = {program.data(), const_cast<char*>(filter.c_str()), all.data(), nullptr};
  for (char** e = environ; *e != nullptr; ++e) environment.emplace_back(*e);
  std::vector<char*> pointers;
  for (std::string& e : environment) pointers.push_back(e.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, pointers.data()) != 0) return -1;
  int status = -1;
  if (waitpid(child, &status, 0) != child) return -2;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -3;
}

TEST_CASE("code is compiled once, then comes from the process, then from disk") {
  const OwnCache cache;
  const CompileStats before = compile_stats();
  std::shared_ptr<const Code> code = compile_nest(1.5);
  CHECK(code->origin() == Origin::Compiled);
  CHECK(works(*code, 1.5f));
  CHECK(cache.entries().size() == 1);
  CHECK(compile_nest(1.5) == code);
  code.reset();
  code = compile_nest(1.5);
  CHECK(code->origin() == Origin::Disk);
  CHECK(works(*code, 1.5f));
  const CompileStats after = compile_stats();
  CHECK(after.compiled == before.compiled + 1);
  CHECK(after.disk_hits == before.disk_hits + 1);
  CHECK(after.refused == before.refused);
  CHECK(after.compile_ms > before.compile_ms);
}

TEST_CASE("a damaged entry is counted, built again and replaced") {
  const OwnCache cache;
  static_cast<void>(compile_nest(2.5));
  const std::vector<fs::path> entries = cache.entries();
  REQUIRE(entries.size() == 1);
  fs::resize_file(entries[0], fs::file_size(entries[0]) / 2);
  const CompileStats before = compile_stats();
  CHECK(compile_nest(2.5)->origin() == Origin::Compiled);
  CHECK(compile_stats().refused == before.refused + 1);
  CHECK(compile_nest(2.5)->origin() == Origin::Disk);
}

TEST_CASE("nothing is stored when the cache is off, and code works all the same") {
  const OwnCache cache;
  const ScopedConfig off("cache.enabled", "false");
  CHECK(works(*compile_nest(3.5), 3.5f));
  CHECK(cache.entries().empty());
  CHECK(compile_nest(3.5)->origin() == Origin::Compiled);
}

TEST_CASE("code with an injected fault is kept apart from good code and never stored") {
  const OwnCache cache;
  std::shared_ptr<const Code> good = compile_nest(4.5);
  const ScopedConfig fault("codegen.mutant", "bound");
  const std::shared_ptr<const Code> bad = compile_nest(4.5);
  CHECK(bad != good);
  CHECK(bad->origin() == Origin::Compiled);
  CHECK(cache.entries().size() == 1);
  const ScopedConfig unknown("codegen.mutant", "nonsense");
  CHECK_THROWS_AS(compile_nest(4.5), ArgumentError);
}

TEST_CASE("a pack serves what the disk does not have") {
  const OwnCache cache;
  static_cast<void>(compile_nest(5.5));
  const std::vector<fs::path> entries = cache.entries();
  REQUIRE(entries.size() == 1);
  const std::vector<std::string> images = {read_file(entries[0].string())};
  const std::string path = cache.folder.path() + "/kernels.pack";
  write_pack(path, images);
  fs::remove(entries[0]);
  const ScopedConfig pack("cache.pack", path);
  const CompileStats before = compile_stats();
  const std::shared_ptr<const Code> code = compile_nest(5.5);
  CHECK(code->origin() == Origin::Pack);
  CHECK(works(*code, 5.5f));
  CHECK(compile_stats().pack_hits == before.pack_hits + 1);
}

TEST_CASE("threads that want one kernel at once compile it once") {
  const OwnCache cache;
  const CompileStats before = compile_stats();
  std::vector<std::shared_ptr<const Code>> codes(6);
  std::vector<std::thread> threads;
  for (std::shared_ptr<const Code>& code : codes) threads.emplace_back([&code] { code = compile_nest(6.5); });
  for (std::thread& thread : threads) thread.join();
  CHECK(compile_stats().compiled == before.compiled + 1);
  for (const std::shared_ptr<const Code>& code : codes) CHECK(code == codes[0]);
}

TEST_CASE("threads compile different kernels side by side") {
  const OwnCache cache;
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&good, t] {
      for (int k = 0; k < 4; ++k) {
        const float number = static_cast<float>(100 + 10 * t + k);
        if (works(*compile_nest(number), number)) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 16);
  CHECK(cache.entries().size() == 16);
}

TEST_CASE("a child that is forked while another thread compiles can compile") {
  const OwnCache cache;
  std::atomic<bool> stop{false};
  std::thread busy([&stop] {
    for (int k = 0; !stop; ++k) static_cast<void>(compile_nest(1000 + k));
  });
  int failed = 0;
  for (int round = 0; round < 5; ++round) {
    const float number = static_cast<float>(2000 + round);
    failed += run_in_child([&] { return works(*compile_nest(number), number) ? 0 : 1; }) != 0 ? 1 : 0;
  }
  stop = true;
  busy.join();
  CHECK(failed == 0);
}

TEST_CASE("processes that compile one kernel at once share what they store") {
  const OwnCache cache;
  const pid_t other = fork();
  if (other == 0) _exit(works(*compile_nest(7.5), 7.5f) ? 0 : 1);
  CHECK(run_in_child([] { return works(*compile_nest(7.5), 7.5f) ? 0 : 1; }) == 0);
  int status = -1;
  REQUIRE(waitpid(other, &status, 0) == other);
  CHECK(status == 0);
  CHECK(cache.entries().size() == 1);
  CHECK(compile_nest(7.5)->origin() == Origin::Disk);
}

TEST_CASE("inner: a warm process" * doctest::skip()) {
  if (std::getenv("RESILIN_TEST_INNER") == nullptr) return;
  const std::shared_ptr<const Code> code = compile_nest(8.5);
  CHECK(code->origin() == Origin::Disk);
  CHECK(works(*code, 8.5f));
  CHECK(!maps_llvm());
}

TEST_CASE("a warm process does not load LLVM") {
  const OwnCache cache;
  static_cast<void>(compile_nest(8.5));
  CHECK(maps_llvm());
  CHECK(run_inner("inner: a warm process", {"RESILIN_TEST_INNER=1", "RESILIN_CACHE_DIR=" + cache.folder.path()}) == 0);
}

TEST_CASE("inner: no plug-in" * doctest::skip()) {
  if (std::getenv("RESILIN_TEST_INNER") == nullptr) return;
  const ScopedConfig plugin("codegen.plugin", "/nowhere/plugin.so");
  try {
    static_cast<void>(compile_nest(9.5));
    FAIL("the plug-in does not exist");
  } catch (const UnsupportedError& error) {
    const std::string text = error.what();
    CHECK(text.find("/nowhere/plugin.so") != std::string::npos);
    CHECK(text.find("No such file") != std::string::npos);
  }
  config::set("codegen.plugin", "libm.so.6");
  CHECK_THROWS_WITH_AS(static_cast<void>(compile_nest(9.5)), doctest::Contains("another version"), UnsupportedError);
  config::set("codegen.plugin", "");
  CHECK(works(*compile_nest(9.5), 9.5f));
}

TEST_CASE("a missing or foreign plug-in is an error that names the file, and the next try may succeed") {
  const OwnCache cache;
  CHECK(run_inner("inner: no plug-in", {"RESILIN_TEST_INNER=1", "RESILIN_CACHE_DIR=" + cache.folder.path()}) == 0);
}

TEST_CASE("a kernel comes from disk in half a millisecond") {
  const OwnCache cache;
  static_cast<void>(compile_nest(10.5));
  std::vector<double> milliseconds;
  for (int round = 0; round < 21; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const std::shared_ptr<const Code> code = compile_nest(10.5);
    milliseconds.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    CHECK(code->origin() == Origin::Disk);
  }
  std::nth_element(milliseconds.begin(), milliseconds.begin() + 5, milliseconds.end());
  MESSAGE("from disk: " << milliseconds[5] << " ms (lower quartile)");
  CHECK(milliseconds[5] < 0.5);
}

}  // namespace
}  // namespace resilin
