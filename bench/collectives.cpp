// bench/collectives.cpp -- all_reduce of 2 and 4 processes on this host against Gloo and against a copy of the same bytes, in one run.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "resilin/dist/group/init.h"
#include "resilin/dist/group/process_group.h"
#include "resilin/dist/store/store.h"

#include "bench/support/compare.h"
#include "bench/support/gloo_peer.h"

namespace {

using resilin::DType;
using resilin::i64;
using resilin::Shape;
using resilin::Tensor;
using resilin::bench::median;
using resilin::bench::now_ns;

constexpr int kPairs = 15;

struct Case {
  std::size_t bytes;
  double wanted_at_2;  // ratio to Gloo with 2 ranks; with 4: nowhere slower than 0.95
  int ours, theirs;    // calls of a sample
};
constexpr Case kCases[] = {{1 << 10, 20, 400, 40},  {16 << 10, 0.95, 200, 40}, {256 << 10, 0.95, 50, 20},
                           {1 << 20, 0.95, 20, 10}, {16 << 20, 0.95, 2, 2},    {64 << 20, 3, 1, 1}};

struct Samples {
  std::vector<double> ours, theirs, copy;
};

/// Nanoseconds a call, of `calls` calls.
template <class Call>
double time_of(int calls, Call&& call) {
  const double begin = now_ns();
  for (int i = 0; i < calls; ++i) call();
  return (now_ns() - begin) / calls;
}

void check(const Tensor& x, float expected) {
  const float* data = static_cast<const float*>(x.data());
  const i64 count = x.numel().value();
  for (i64 i = 0; i < count; i += std::max<i64>(1, count / 64)) {
    if (data[i] != expected)
      throw std::runtime_error("a sum is wrong: " + std::to_string(data[i]) + ", expected " + std::to_string(expected));
  }
}

/// All ranks run the same calls; those of rank 0 are timed.
Samples measure(const Case& one, resilin::dist::ProcessGroup& group, resilin::bench::GlooPeer* gloo) {
  const i64 count = static_cast<i64>(one.bytes / sizeof(float));
  const Tensor x = Tensor::allocate(Shape{count}, DType::F32), y = Tensor::allocate(Shape{count}, DType::F32);
  float* data = static_cast<float*>(x.data());
  const auto fill = [&] { std::fill(data, data + count, 1.0f); };
  const auto ours = [&] { group.all_reduce(x).wait(); };
  const auto theirs = [&] { gloo->all_reduce(data, static_cast<std::size_t>(count)); };
  Samples samples;
  fill();
  ours();
  check(x, static_cast<float>(group.size()));
  for (int pair = 0; pair < kPairs; ++pair) {
    fill();
    group.barrier().wait();
    samples.ours.push_back(time_of(one.ours, ours));
    fill();
    if (gloo != nullptr) {
      gloo->barrier();
      theirs();
      samples.theirs.push_back(time_of(one.theirs, theirs));
    }
    samples.copy.push_back(time_of(one.ours, [&] { std::memcpy(y.data(), x.data(), one.bytes); }));
  }
  return samples;
}

std::string size_text(std::size_t bytes) {
  return bytes >= (1 << 20) ? std::to_string(bytes >> 20) + " MiB" : std::to_string(bytes >> 10) + " KiB";
}

void report_case(resilin::bench::Report& report, const Case& one, int size, const Samples& samples) {
  resilin::bench::Row row;
  row.name = "all_reduce f32, " + size_text(one.bytes) + ", " + std::to_string(size) + " ranks";
  row.ours = median(samples.ours) / 1000;
  row.unit = "us";
  row.threads = size;
  row.wanted = size == 2 ? one.wanted_at_2 : 0.95;
  const double copy = median(samples.copy) / 1000;
  row.note = "a copy of the bytes takes " + std::to_string(copy) + " us";
  row.peer_name = "gloo tcp";
  row.failed = samples.theirs.empty();
  if (!row.failed) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < samples.ours.size(); ++i) ratios.push_back(samples.theirs[i] / samples.ours[i]);
    std::sort(ratios.begin(), ratios.end());
    row.peer = median(samples.theirs) / 1000;
    row.ratio = median(ratios);
    row.ratio_low = ratios[ratios.size() / 4];
    row.ratio_high = ratios[ratios.size() * 3 / 4];
    row.failed = row.ratio < row.wanted;
  }
  report.add(row);
}

void run_rank(const std::string& folder, int rank, int size, resilin::bench::Report* report) {
  resilin::dist::InitOptions options;
  options.store = resilin::dist::make_file_store(folder + "/store");
  options.rank = rank;
  options.size = size;
  resilin::dist::ProcessGroup group = resilin::dist::init_process_group(options);
  const std::unique_ptr<resilin::bench::GlooPeer> gloo = resilin::bench::GlooPeer::connect(folder, rank, size);
  for (const Case& one : kCases) {
    const Samples samples = measure(one, group, gloo.get());
    if (report != nullptr) report_case(*report, one, size, samples);
  }
  group.barrier().wait();
  group.destroy();
}

/// Rank 0 is this process; the others are this program again.
void run_size(const char* program, int size, resilin::bench::Report& report) {
  std::string folder = "/tmp/resilin-bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder at " + folder);
  std::vector<pid_t> children;
  for (int rank = 1; rank < size; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      execl(program, program, "--rank", folder.c_str(), std::to_string(rank).c_str(), std::to_string(size).c_str(), nullptr);
      _exit(127);
    }
    children.push_back(child);
  }
  run_rank(folder, 0, size, &report);
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) throw std::runtime_error("a rank ended with status " + std::to_string(status));
  }
  std::filesystem::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "--rank") {
    run_rank(argv[2], std::stoi(argv[3]), std::stoi(argv[4]), nullptr);
    return 0;
  }
  resilin::bench::Report report(argc, argv);
  for (const int size : {2, 4}) run_size("/proc/self/exe", size, report);
  return report.finish();
}
