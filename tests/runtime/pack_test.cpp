// tests/runtime/pack_test.cpp -- the kernel pack of the build, seen by fresh processes: nothing is compiled, and a damaged pack does no harm.
#include "resilin/codegen/pack.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/codegen/compile.h"
#include "resilin/resilin.h"

#include "tests/support/temporary_folder.h"

namespace resilin {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

constexpr char kInner[] = "inner: row-major ops in a fresh process";
constexpr char kExpectVariable[] = "RESILIN_TEST_EXPECT";
constexpr char kResultsVariable[] = "RESILIN_TEST_RESULTS";
constexpr std::size_t kPackHeaderBytes = 40;
constexpr std::size_t kPackRowBytes = 24;

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_text(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// A pack as the build made it.
std::string built_pack() { return config::text("cache.pack"); }

/// A fresh process that runs the inner test with an empty cache folder.
struct FreshProcess {
  TemporaryFolder folder;
  int status = -1;
  std::string log;      // what it wrote
  std::string results;  // the bytes of its results

  FreshProcess(const std::string& pack, const std::string& expect) {
    const std::string results_path = folder.path() + "/results";
    const std::string log_path = folder.path() + "/log";
    run({"RESILIN_CACHE_DIR=" + folder.path() + "/cache", "RESILIN_CACHE_PACK=" + pack, cat(kExpectVariable, "=", expect),
         cat(kResultsVariable, "=", results_path)},
        log_path);
    log = read_text(log_path);
    results = read_text(results_path);
  }

  i64 warnings() const {
    i64 count = 0;
    for (std::size_t at = log.find("resilin warning"); at != std::string::npos; at = log.find("resilin warning", at + 1)) ++count;
    return count;
  }

 private:
  void run(std::vector<std::string> environment, const std::string& log_path) {
    std::string program = "/proc/self/exe";
    std::string filter = cat("--test-case=", kInner);
    std::string all = "--no-skip";
    char* const arguments[] = {program.data(), filter.data(), all.data(), nullptr};
    for (char** e = environ; *e != nullptr; ++e) environment.emplace_back(*e);
    std::vector<char*> pointers;
    for (std::string& e : environment) pointers.push_back(e.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    pid_t child = 0;
    const bool started = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments, pointers.data()) == 0;
    posix_spawn_file_actions_destroy(&actions);
    REQUIRE(started);
    int ended = -1;
    REQUIRE(waitpid(child, &ended, 0) == child);
    status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -WTERMSIG(ended);
  }
};

Tensor ramp(Shape shape) {
  const Tensor x = Tensor::allocate(shape, DType::F32);
  for (i64 i = 0; i < x.numel().value(); ++i) x.data_as<float>()[i] = static_cast<float>(i % 37) * 0.25f - 3;
  return x;
}

void append_bytes(std::string& bytes, const Tensor& x) {
  bytes.append(static_cast<const char*>(x.data()), static_cast<std::size_t>(x.numel().value() * size_bytes(x.dtype())));
}

std::string compute_results() {
  const Tensor x = ramp({6, 33});
  const Tensor y = ramp({33});
  std::string bytes;
  for (const Tensor& result :
       {add(x, x), add(x, y), mul(x, x), exp(x), softmax(x), gelu(x), sum(x), sum(x, {.axes = {-1}}), layer_norm(x, {33}, y, y)}) {
    append_bytes(bytes, result);
  }
  return bytes;
}

bool maps_llvm() { return read_text("/proc/self/maps").find("LLVM") != std::string::npos; }

TEST_CASE("inner: row-major ops in a fresh process" * doctest::skip()) {
  const std::string expect = variable(kExpectVariable);
  if (expect.empty()) return;  // started by hand
  write_text(variable(kResultsVariable), compute_results());
  const CompileStats stats = compile_stats();
  CHECK(stats.disk_hits == 0);
  if (expect == "pack") {
    CHECK(stats.pack_hits > 0);
    CHECK(stats.compiled == 0);
    CHECK(stats.refused == 0);
    CHECK(!maps_llvm());
  } else {
    CHECK(stats.pack_hits == 0);
    CHECK(stats.compiled > 0);
    CHECK(stats.refused == (expect == "refused" ? stats.compiled : 0));
    CHECK(maps_llvm());
  }
}

TEST_CASE("the build's pack serves row-major ops: nothing is compiled, LLVM is not loaded, results are those of compiled kernels") {
  REQUIRE_MESSAGE(fs::exists(built_pack()), built_pack() << " is made by the build");
  const FreshProcess packed(built_pack(), "pack");
  CHECK_MESSAGE(packed.status == 0, packed.log);
  CHECK(packed.warnings() == 0);
  const FreshProcess compiled("/nowhere", "compiled");
  CHECK_MESSAGE(compiled.status == 0, compiled.log);
  CHECK(compiled.warnings() == 0);
  CHECK(!packed.results.empty());
  CHECK(packed.results == compiled.results);
}

TEST_CASE("a truncated pack, or one with a damaged index, is refused with one line in the log, and kernels are compiled") {
  const std::string good = read_text(built_pack());
  REQUIRE(good.size() > kPackHeaderBytes + kPackRowBytes);
  std::string damaged_index = good;
  damaged_index[kPackHeaderBytes + 3] ^= 1;
  const std::string bad[] = {good.substr(0, good.size() / 2), good.substr(0, 17), "", damaged_index, "no pack" + good};
  const std::string right = FreshProcess(built_pack(), "pack").results;
  for (const std::string& pack : bad) {
    CAPTURE(pack.size());
    const TemporaryFolder folder;
    write_text(folder.path() + "/bad.pack", pack);
    const FreshProcess process(folder.path() + "/bad.pack", "compiled");
    CHECK_MESSAGE(process.status == 0, process.log);
    CHECK_MESSAGE(process.warnings() == 1, process.log);
    CHECK(process.log.find("bad.pack") != std::string::npos);
    CHECK(process.results == right);
  }
}

TEST_CASE("damaged kernels of a sound pack are compiled instead, and the log says so once") {
  std::string bytes = read_text(built_pack());
  const std::unique_ptr<const Pack> pack = Pack::open(built_pack());
  REQUIRE(pack != nullptr);
  // Every image ends within its row's range, and its last byte is covered by its checksum.
  for (i64 i = 0; i < pack->size(); ++i) {
    std::uint64_t row[3];  // hash, offset, bytes
    std::memcpy(row, bytes.data() + kPackHeaderBytes + static_cast<std::size_t>(i) * kPackRowBytes, sizeof row);
    bytes[row[1] + row[2] - 1] ^= 0x40;
  }
  const TemporaryFolder folder;
  write_text(folder.path() + "/bad.pack", bytes);
  const FreshProcess process(folder.path() + "/bad.pack", "refused");
  CHECK_MESSAGE(process.status == 0, process.log);
  CHECK_MESSAGE(process.warnings() == 1, process.log);
  CHECK(process.results == FreshProcess(built_pack(), "pack").results);
}

}  // namespace
}  // namespace resilin
