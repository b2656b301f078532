// bench/compile.cpp -- what a kernel costs at its first use, when it lies on disk, and how long a fresh process takes to its first result.
#include "resilin/codegen/compile.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "resilin/dispatch/trace.h"
#include "resilin/plan/plan.h"
#include "resilin/resilin.h"

#include "bench/support/compare.h"
#include "tools/pack/sample_kernels.h"

namespace {

using resilin::DType;
using resilin::Origin;
using resilin::bench::now_ns;
using resilin::bench::Report;
using resilin::bench::Row;
using resilin::tool::SampleGraph;
using resilin::tool::SampleKernel;

constexpr DType kDTypes[] = {DType::F32, DType::I64, DType::BF16, DType::F64, DType::I32, DType::F16, DType::U8, DType::Bool};
constexpr char kChildArgument[] = "--first-result";
constexpr int kRounds = 3;
constexpr int kWarmStarts = 11;
constexpr std::size_t kWorstShown = 10;

double cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

/// A folder that is gone at the end of the scope.
class OwnFolder {
 public:
  OwnFolder() {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder at " + path_);
  }
  ~OwnFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "resilin-bench-XXXXXX").string();
};

/// Milliseconds of one thing done for each of many items, by the clock and by the processor; of several rounds the best of each item.
struct Times {
  std::vector<double> wall;
  std::vector<double> cpu;
  void keep_best(const Times& other) {
    if (wall.empty()) *this = other;
    for (std::size_t i = 0; i < wall.size(); ++i) {
      wall[i] = std::min(wall[i], other.wall[i]);
      cpu[i] = std::min(cpu[i], other.cpu[i]);
    }
  }
  template <class Call>
  void add(Call&& call) {
    const double cpu_start = cpu_ns();
    const double start = now_ns();
    call();
    wall.push_back((now_ns() - start) * 1e-6);
    cpu.push_back((cpu_ns() - cpu_start) * 1e-6);
  }
};

void add_row(Report& report, const std::string& name, const std::string& cache, double q, const Times& times, double wanted) {
  Row row{.name = name, .peer_name = "", .unit = "ms", .cache = cache, .note = "", .wanted = wanted};
  row.ours = quantile(times.wall, q);
  row.note = resilin::cat(times.wall.size(), " of them; processor time ", quantile(times.cpu, q), " ms",
                          wanted > 0 ? resilin::cat("; wanted <= ", wanted) : "");
  row.failed = wanted > 0 && row.ours > wanted;
  report.add(row);
}

/// The code of every kernel, asked for once; it must come from there.
Times times_of(const std::vector<SampleKernel>& kernels, Origin origin) {
  Times times;
  for (const SampleKernel& kernel : kernels) {
    times.add([&] {
      const bool right = resilin::compile(*kernel.nest, kernel.text)->origin() == origin;
      if (!right) throw std::runtime_error("the code does not come from where it should: " + kernel.name);
    });
  }
  return times;
}

void show_worst(const std::vector<SampleKernel>& kernels, const Times& times) {
  std::vector<std::size_t> order(kernels.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return times.cpu[a] > times.cpu[b]; });
  order.resize(std::min(order.size(), kWorstShown));
  std::printf("the slowest to compile (clock, processor time):\n");
  for (const std::size_t i : order) std::printf("  %7.2f ms %7.2f ms  %s\n", times.wall[i], times.cpu[i], kernels[i].name.c_str());
}

void measure_plans(Report& report, const std::vector<SampleGraph>& graphs) {
  Times times;
  for (const SampleGraph& sample : graphs) {
    times.add([&] { static_cast<void>(resilin::make_plan(resilin::expand_composites(sample.graph), {})); });
  }
  add_row(report, "plan of an eager call, median", "none", 0.5, times, 0);
  add_row(report, "plan of an eager call, p95", "none", 0.95, times, 0);
}

void measure_kernels(Report& report, const std::vector<SampleKernel>& kernels) {
  Times opening;
  opening.add([&] { static_cast<void>(resilin::compile(*kernels.back().nest, kernels.back().text)); });
  add_row(report, "first kernel of a process, loads LLVM", "cold", 0.5, opening, 0);
  Times cold;
  Times disk;
  const OwnFolder folder;  // keeps all rounds: the system takes its time over places that were deleted a moment ago
  for (int round = 0; round < kRounds; ++round) {
    const resilin::config::ScopedConfig fresh("cache.dir", resilin::cat(folder.path(), "/", round));
    cold.keep_best(times_of(kernels, Origin::Compiled));
    disk.keep_best(times_of(kernels, Origin::Disk));
  }
  add_row(report, "never-seen kernel, median", "cold", 0.5, cold, 8);
  add_row(report, "never-seen kernel, p95", "cold", 0.95, cold, 25);
  add_row(report, "kernel from disk, median", "disk", 0.5, disk, 0.5);
  add_row(report, "kernel from disk, p95", "disk", 0.95, disk, 0);
  show_worst(kernels, cold);
}

/// What the fresh process does: a softmax, then one byte to its parent, or nothing when the result is wrong or was compiled.
int run_child() {
  resilin::Tensor x = resilin::Tensor::allocate(resilin::Shape{64, 256}, DType::F32);
  std::fill_n(x.data_as<float>(), 64 * 256, 1.0f);
  const resilin::Tensor y = resilin::softmax(x);
  const bool good = y.data_as<float>()[100] == 1.0f / 256 && resilin::compile_stats().compiled == 0;
  const char byte = 'y';
  return good && write(STDOUT_FILENO, &byte, 1) == 1 ? 0 : 1;
}

/// Runs this program again; gives back whether its first result came.
bool spawn_child() {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::string program = "/proc/self/exe";
  std::string argument = kChildArgument;
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  const bool started = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char byte = 0;
  const bool came = started && read(ends[0], &byte, 1) == 1;
  close(ends[0]);
  return came && byte == 'y';
}

void reap_children() {
  while (wait(nullptr) > 0) continue;
}

void measure_warm_start(Report& report) {
  const OwnFolder folder;
  setenv("RESILIN_CACHE_DIR", folder.path().c_str(), 1);
  setenv("RESILIN_CACHE_PACK", (folder.path() + "/none").c_str(), 1);
  if (spawn_child()) throw std::runtime_error("the first process must compile its kernel");
  reap_children();
  Times times;
  for (int i = 0; i < kWarmStarts; ++i) {
    times.add([] {
      if (!spawn_child()) throw std::runtime_error("a fresh process gave no result");
    });
    reap_children();
  }
  Row row{.name = "warm start: exec to the result of softmax", .peer_name = "", .unit = "ms", .cache = "disk", .note = "", .wanted = 30};
  row.ours = resilin::bench::median(times.wall);
  row.note = resilin::cat(times.wall.size(), " processes; best ", quantile(times.wall, 0), " ms; wanted <= 30");
  row.failed = row.ours > row.wanted;
  report.add(row);
}

int measure(int argc, char** argv) {
  const OwnFolder folder;
  const resilin::config::ScopedConfig disk("cache.dir", folder.path());
  const resilin::config::ScopedConfig pack("cache.pack", folder.path() + "/none");
  Report report(argc, argv);
  const std::vector<SampleGraph> graphs = resilin::tool::sample_graphs(kDTypes);
  measure_plans(report, graphs);
  measure_kernels(report, resilin::tool::sample_kernels(graphs));
  measure_warm_start(report);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == kChildArgument) return run_child();
  try {
    return measure(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_compile: %s\n", error.what());
    return 1;
  }
}
