// tests/tensor/index_test.cpp -- Python's index rules against a brute-force reading of slices, and torch's error words.
#include "resilin/tensor/index.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace resilin {
namespace {

std::vector<AxisIndex> resolve(const Shape& shape, const std::vector<Index>& indices) { return resolve_index(shape, indices); }

std::string refusal(const Shape& shape, const std::vector<Index>& indices) {
  try {
    resolve(shape, indices);
  } catch (const IndexError& error) {
    return error.what();
  }
  return "no IndexError";
}

/// The positions that Python's x[start:stop:step] takes, found without arithmetic on ranges.
std::vector<i64> python_positions(i64 size, const Slice& slice) {
  const auto from_end = [&](i64 bound) { return bound < 0 ? bound + size : bound; };
  std::vector<i64> out;
  i64 wait = 0;
  for (i64 i = 0; i < size; ++i) {
    if (slice.start && i < from_end(*slice.start)) continue;
    if (slice.stop && i >= from_end(*slice.stop)) continue;
    if (wait == 0) out.push_back(i);
    wait = (wait + 1) % slice.step;
  }
  return out;
}

TEST_CASE("slices take the positions that Python takes for all small bounds") {
  std::vector<std::optional<i64>> bounds{std::nullopt};
  for (i64 b = -7; b <= 7; ++b) bounds.emplace_back(b);
  for (i64 size = 0; size <= 5; ++size) {
    for (const std::optional<i64>& start : bounds) {
      for (const std::optional<i64>& stop : bounds) {
        for (i64 step = 1; step <= 4; ++step) {
          const Slice slice{start, stop, step};
          const AxisIndex got = resolve({size}, {slice}).at(0);
          REQUIRE(got.kind == AxisIndex::Kind::Slice);
          REQUIRE(got.start >= 0);
          REQUIRE(got.start <= got.stop);
          REQUIRE(got.stop <= size);
          std::vector<i64> positions;
          for (i64 i = got.start; i < got.stop; i += got.step) positions.push_back(i);
          REQUIRE(positions == python_positions(size, slice));
        }
      }
    }
  }
}

TEST_CASE("integers select, None adds an axis, Ellipsis and missing indices take whole axes") {
  const std::vector<AxisIndex> got = resolve({3, 4, 5, 6}, {i64{-1}, NewAxis{}, Ellipsis{}, Slice{1, 5, 2}});
  REQUIRE(got.size() == 5);
  CHECK(got[0].kind == AxisIndex::Kind::Select);
  CHECK(got[0].start == 2);
  CHECK(got[1].kind == AxisIndex::Kind::NewAxis);
  CHECK(got[2].kind == AxisIndex::Kind::Slice);
  CHECK(got[2].stop == 4);
  CHECK(got[3].stop == 5);
  CHECK(got[4].start == 1);
  CHECK(got[4].stop == 5);
  CHECK(got[4].step == 2);
  const std::vector<AxisIndex> rest = resolve({3, 4}, {});
  REQUIRE(rest.size() == 2);
  CHECK(rest[1].stop == 4);
  CHECK(resolve({}, {Ellipsis{}, NewAxis{}}).size() == 1);
  CHECK(resolve({2}, {i64{0}, Ellipsis{}}).size() == 1);
}

TEST_CASE("wrong indices are refused with torch's words") {
  CHECK(refusal({3, 4}, {i64{5}}) == "index 5 is out of bounds for dimension 0 with size 3");
  CHECK(refusal({3, 4}, {i64{-4}}) == "index -4 is out of bounds for dimension 0 with size 3");
  CHECK(refusal({3, 4}, {Slice{}, i64{7}}) == "index 7 is out of bounds for dimension 1 with size 4");
  CHECK(refusal({3, 4}, {Ellipsis{}, i64{5}}) == "index 5 is out of bounds for dimension 1 with size 4");
  CHECK(refusal({3, 4}, {i64{0}, i64{0}, i64{0}}) == "too many indices for tensor of dimension 2: 3 are given");
  CHECK(refusal({}, {i64{0}}).starts_with("invalid index of a 0-dim tensor."));
  CHECK(refusal({}, {Slice{}}) == "slice() cannot be applied to a 0-dim tensor.");
  CHECK(refusal({}, {i64{0}, i64{0}}).starts_with("too many indices for tensor of dimension 0"));
  CHECK(refusal({3, 4}, {Ellipsis{}, Ellipsis{}}).starts_with("an index can only have a single ellipsis"));
  CHECK_THROWS_WITH_AS(resolve({3}, {Slice{std::nullopt, std::nullopt, 0}}), "slice step must be positive: the step is 0", ArgumentError);
  CHECK_THROWS_AS(resolve({3}, {Slice{std::nullopt, std::nullopt, -1}}), ArgumentError);
}

}  // namespace
}  // namespace resilin
