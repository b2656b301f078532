// tests/dist/group/soak_test.cpp -- what only shows after long: groups that change their members thousands of times in one process.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/text.h"
#include "resilin/dist/transport/ucx.h"

#include "tests/support/ranks.h"
#include "tests/support/slowness.h"

namespace resilin::dist {
namespace {

using test::Ranks;

struct Footprint {
  std::size_t descriptors = 0, threads = 0, maps = 0;
  i64 resident_kib = 0;
  std::int64_t keys = 0;
};

std::size_t entries_of(const std::string& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) count += entry.path().empty() ? 0 : 1;
  return count;
}

Footprint footprint(Store& store) {
  Footprint now{.descriptors = entries_of("/proc/self/fd"), .threads = entries_of("/proc/self/task"), .keys = store.num_keys()};
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    // A sanitizer's allocator takes memory in pieces and keeps what is freed for a long time. What is mapped of a file has a name.
    if (!testing::kSanitized || line.find('/') != std::string::npos) ++now.maps;
  }
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) now.resident_kib = std::atoll(line.c_str() + 6);
  }
  return now;
}

/// Lists of all, of a part and again of all, with a sum in each.
void reconfigure_often(Ranks& ranks, int count) {
  Footprint warm;
  for (int round = 0; round < count; ++round) {
    const std::vector<int> members = round % 3 == 1   ? std::vector<int>{0, 2}
                                     : round % 3 == 2 ? std::vector<int>{2, 0, 1}
                                                      : std::vector<int>{0, 1, 2};
    ranks.reconfigure(members);
    ranks.run(members, [&](int process, ProcessGroup& group) {
      const Tensor x = Tensor::allocate(Shape{round % 100 + 1}, DType::F32);
      for (i64 i = 0; i < x.numel().value(); ++i) static_cast<float*>(x.data())[i] = static_cast<float>(process);
      group.all_reduce(x).wait();
      float expected = 0;
      for (const int member : members) expected += static_cast<float>(member);
      if (static_cast<float*>(x.data())[round % 100] != expected) throw std::runtime_error(cat("round ", round, ": a sum is wrong"));
    });
    if (round == count / 10) warm = footprint(*ranks.store());
  }
  const Footprint end = footprint(*ranks.store());
  CHECK(end.descriptors <= warm.descriptors + 8);
  CHECK(end.threads <= warm.threads + 3);
  CHECK(end.maps <= warm.maps + 40);
  if (!testing::kSanitized) CHECK(end.resident_kib <= warm.resident_kib + 16'384);
  CHECK(end.keys <= warm.keys + 8);
  std::printf(
      "%d reconfigures: descriptors %zu to %zu, threads %zu to %zu, maps %zu to %zu, resident %lld to %lld KiB, keys %lld to %lld\n", count,
      warm.descriptors, end.descriptors, warm.threads, end.threads, warm.maps, end.maps, static_cast<long long>(warm.resident_kib),
      static_cast<long long>(end.resident_kib), static_cast<long long>(warm.keys), static_cast<long long>(end.keys));
}

TEST_CASE("300 reconfigures in one process over shared memory leave nothing") {
  Ranks ranks(3, 0, [](GroupOptions& options) { options.transport = ucx_transport({}); });
  reconfigure_often(ranks, 300);
}

TEST_CASE("soak: 10,000 reconfigures in one process leave nothing" * doctest::test_suite("soak") * doctest::skip()) {
  Ranks ranks(3);
  reconfigure_often(ranks, 10'000);
}

TEST_CASE("soak: 10,000 reconfigures in one process over shared memory leave nothing" * doctest::test_suite("soak") * doctest::skip()) {
  Ranks ranks(3, 0, [](GroupOptions& options) { options.transport = ucx_transport({}); });
  reconfigure_often(ranks, 10'000);
}

}  // namespace
}  // namespace resilin::dist
