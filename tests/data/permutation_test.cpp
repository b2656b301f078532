// tests/data/permutation_test.cpp -- keyed permutations hit every position once and look random.
#include "resilin/data/permutation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

namespace resilin::data {
namespace {

std::vector<i64> permutation(i64 count, i64 seed, i64 stream) {
  std::vector<i64> out;
  for (i64 i = 0; i < count; ++i) out.push_back(permuted(i, count, seed, stream));
  return out;
}

bool is_bijection(const std::vector<i64>& images) {
  std::vector<bool> seen(images.size(), false);
  for (const i64 image : images) {
    if (image < 0 || image >= static_cast<i64>(images.size()) || seen[static_cast<std::size_t>(image)]) return false;
    seen[static_cast<std::size_t>(image)] = true;
  }
  return true;
}

TEST_CASE("every position is hit once, whatever the count, seed and stream") {
  for (i64 count = 1; count <= 300; ++count) {
    CAPTURE(count);
    CHECK(is_bijection(permutation(count, 0, 0)));
    CHECK(is_bijection(permutation(count, -1, count)));
  }
  for (const i64 count : {1023, 1024, 1025, 4096, 4097, 65'537}) {
    CAPTURE(count);
    CHECK(is_bijection(permutation(count, 7, 3)));
  }
}

TEST_CASE("positions of huge ranges stay inside and differ") {
  for (const i64 count : {(i64{1} << 40) + 1, (i64{1} << 62) - 1}) {
    std::vector<i64> images;
    for (i64 i = 0; i < 1000; ++i) images.push_back(permuted(count - 1 - i, count, 5, 0));
    std::sort(images.begin(), images.end());
    CHECK(images.front() >= 0);
    CHECK(images.back() < count);
    CHECK(std::adjacent_find(images.begin(), images.end()) == images.end());
    CHECK(images.back() > count / 2);
    CHECK(images.front() < count / 2);
  }
  CHECK_THROWS_AS(permuted(3, 3, 0, 0), InternalError);
}

TEST_CASE("seeds and streams give permutations of their own") {
  const std::vector<i64> first = permutation(1000, 1, 0);
  for (const std::vector<i64>& other : {permutation(1000, 2, 0), permutation(1000, 1, 1), permutation(1000, i64{1} << 40, 0)}) {
    i64 equal = 0;
    for (std::size_t i = 0; i < first.size(); ++i) equal += first[i] == other[i] ? 1 : 0;
    CHECK(equal < 12);  // one is expected
  }
}

TEST_CASE("every image of every index is equally likely, and so is each order of a pair") {
  // Over 4000 streams a count has the mean 4000 / n and nearly that variance; 5.5 deviations are a chance of 1 in 10^7.
  constexpr i64 kStreams = 4000;
  for (const i64 count : {2, 3, 5, 8, 13}) {
    CAPTURE(count);
    std::vector<i64> hits(static_cast<std::size_t>(count * count), 0);
    i64 ascending = 0;
    for (i64 stream = 0; stream < kStreams; ++stream) {
      const std::vector<i64> images = permutation(count, 3, stream);
      for (i64 i = 0; i < count; ++i) ++hits[static_cast<std::size_t>(i * count + images[static_cast<std::size_t>(i)])];
      ascending += images[0] < images[1] ? 1 : 0;
    }
    const double mean = static_cast<double>(kStreams) / static_cast<double>(count);
    for (const i64 hit : hits) CHECK(std::abs(static_cast<double>(hit) - mean) < 5.5 * std::sqrt(mean));
    CHECK(std::abs(static_cast<double>(ascending) - kStreams / 2.0) < 5.5 * std::sqrt(kStreams / 4.0));
  }
}

TEST_CASE("the images are those of the network as it was first defined") {
  // Computed by another program from the same definition. A run that continues after an update must see the same order.
  const std::vector<i64> expected = {314, 754, 861, 890, 930, 763};
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(permuted(static_cast<i64>(i), 1000, -5, 3) == expected[i]);
  CHECK(permuted(0, (i64{1} << 40) + 1, 7, 2) == 45'096'532'062);
}

TEST_CASE("neighbours are torn apart") {
  const std::vector<i64> images = permutation(10'000, 1, 0);
  i64 close = 0;
  for (std::size_t i = 1; i < images.size(); ++i) close += std::abs(images[i] - images[i - 1]) <= 10 ? 1 : 0;
  CHECK(close < 60);  // 20 are expected
}

}  // namespace
}  // namespace resilin::data
