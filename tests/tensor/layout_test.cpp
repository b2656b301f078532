// tests/tensor/layout_test.cpp -- strides, overlap and reshaping against brute force over all positions.
#include "resilin/tensor/layout.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

namespace resilin {
namespace {

/// The offsets of all positions in row-major order.
std::vector<i64> offsets_of(const Shape& shape, const Strides& strides) {
  std::vector<i64> out{0};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<i64> next;
    for (const i64 base : out) {
      for (i64 i = 0; i < shape[axis].value(); ++i) next.push_back(base + i * strides[axis].value());
    }
    out = next;
  }
  return out;
}

/// Calls f with each vector of `axes` values out of `choices`.
template <class F>
void each_vector(std::size_t axes, const std::vector<i64>& choices, F f) {
  std::vector<std::size_t> digits(axes, 0);
  while (true) {
    Shape values;
    for (const std::size_t d : digits) values.push_back(choices[d]);
    f(values);
    std::size_t axis = 0;
    while (axis < axes && ++digits[axis] == choices.size()) digits[axis++] = 0;
    if (axis == axes) return;
  }
}

TEST_CASE("row-major strides count what follows and skip axes of size 0 and 1") {
  CHECK(contiguous_strides(Shape{2, 3, 4}) == Strides{12, 4, 1});
  CHECK(contiguous_strides(Shape{2, 0, 4}) == Strides{4, 4, 1});
  CHECK(contiguous_strides(Shape{2, 1, 4}) == Strides{4, 4, 1});
  CHECK(contiguous_strides(Shape{}).empty());
  const Dim s0 = Dim::symbol('s', 0);
  CHECK(contiguous_strides(Shape{2, s0, 4}) == Strides{s0 * 4, 4, 1});
}

TEST_CASE("contiguity means row-major order where axes of size 1 do not count") {
  CHECK(is_contiguous(Shape{2, 3}, Strides{3, 1}));
  CHECK(is_contiguous(Shape{1, 3}, Strides{77, 1}));
  CHECK(is_contiguous(Shape{3, 1}, Strides{1, 9}));
  CHECK(is_contiguous(Shape{0, 3}, Strides{9, 9}));
  CHECK(is_contiguous(Shape{3, 0}, Strides{9, 9}));
  CHECK(is_contiguous(Shape{}, Strides{}));
  CHECK(!is_contiguous(Shape{2, 3}, Strides{1, 2}));
  CHECK(!is_contiguous(Shape{2, 3}, Strides{4, 1}));
  CHECK(!is_contiguous(Shape{2, 3}, Strides{0, 1}));
  const Dim s0 = Dim::symbol('s', 0);
  CHECK(is_contiguous(Shape{2, s0}, Strides{s0, 1}));
  CHECK(!is_contiguous(Shape{2, s0}, Strides{s0 + 1, 1}));
}

TEST_CASE("the extent is one past the largest offset, for all small layouts") {
  each_vector(2, {0, 1, 2, 5}, [](const Shape& shape) {
    each_vector(2, {0, 1, 3, 7}, [&](const Strides& strides) {
      const std::vector<i64> offsets = offsets_of(shape, strides);
      REQUIRE(extent(shape, strides) == (offsets.empty() ? 0 : *std::max_element(offsets.begin(), offsets.end()) + 1));
    });
  });
  CHECK(extent(Shape{}, Strides{}) == 1);
  CHECK_THROWS_AS(extent(Shape{i64{1} << 40, 2}, Strides{i64{1} << 40, 1}), ShapeError);
}

TEST_CASE("overlap is decided exactly for all small layouts") {
  each_vector(3, {1, 2, 3, 4}, [](const Shape& shape) {
    each_vector(3, {0, 1, 2, 3, 5, 8}, [&](const Strides& strides) {
      std::vector<i64> offsets = offsets_of(shape, strides);
      std::sort(offsets.begin(), offsets.end());
      const bool distinct = std::adjacent_find(offsets.begin(), offsets.end()) == offsets.end();
      REQUIRE(is_non_overlapping(shape, strides) == distinct);
    });
  });
  CHECK(is_non_overlapping(Shape{0, 4}, Strides{0, 0}));
}

TEST_CASE("overlap is decided for layouts whose axes interleave") {
  CHECK(is_non_overlapping(Shape{3, 4}, Strides{4, 3}));   // offsets 0 .. 17 without a repetition
  CHECK(!is_non_overlapping(Shape{4, 5}, Strides{4, 3}));  // 3 * 4 = 4 * 3
  CHECK(is_non_overlapping(Shape{1000, 999}, Strides{999, 1000}));
  CHECK(!is_non_overlapping(Shape{1001, 1000}, Strides{999, 1000}));
}

/// Strides that show the offsets in the order of the new shape, by trying all; nothing when there are none.
std::optional<Strides> search_strides(const std::vector<i64>& offsets, const Shape& new_shape) {
  Strides strides;
  i64 inner = 1;
  strides.resize(new_shape.size(), 0);
  for (std::size_t axis = new_shape.size(); axis-- > 0;) {
    // The offset of position (0, .., 1, .., 0) is the stride of its axis.
    if (new_shape[axis].value() > 1) strides[axis] = offsets[static_cast<std::size_t>(inner)] - offsets[0];
    inner *= new_shape[axis].value();
  }
  return offsets_of(new_shape, strides) == offsets ? std::optional<Strides>(strides) : std::nullopt;
}

TEST_CASE("reshaping finds strides exactly when a view exists, for all small layouts") {
  int views = 0, copies = 0;
  each_vector(3, {1, 2, 3, 4}, [&](const Shape& shape) {
    each_vector(3, {0, 1, 2, 4, 12}, [&](const Strides& strides) {
      const std::vector<i64> offsets = offsets_of(shape, strides);
      each_vector(2, {1, 2, 3, 4, 6, 8, 12}, [&](const Shape& new_shape) {
        if (!(product(new_shape) == product(shape))) return;
        const std::optional<Strides> got = reshape_strides(shape, strides, new_shape);
        REQUIRE(got.has_value() == search_strides(offsets, new_shape).has_value());
        if (got.has_value()) REQUIRE(offsets_of(new_shape, *got) == offsets);
        (got.has_value() ? views : copies) += 1;
      });
    });
  });
  CHECK(views > 1000);
  CHECK(copies > 1000);
}

TEST_CASE("reshaping keeps the strides of an equal shape and gives an empty tensor row-major ones") {
  CHECK(reshape_strides(Shape{1, 3}, Strides{99, 1}, Shape{1, 3}) == Strides{99, 1});
  CHECK(reshape_strides(Shape{0, 3}, Strides{9, 9}, Shape{3, 0, 2}) == Strides{2, 2, 1});
  CHECK(reshape_strides(Shape{}, Strides{}, Shape{1, 1}) == Strides{1, 1});
  CHECK(reshape_strides(Shape{1, 1}, Strides{5, 5}, Shape{}) == Strides{});
}

TEST_CASE("reshaping refuses another number of elements with torch's words") {
  CHECK_THROWS_WITH_AS(reshape_strides(Shape{3, 4}, Strides{4, 1}, Shape{5}),
                       "reshape: shape '[5]' is invalid for input of size 12: the input is [3, 4]", ShapeError);
}

}  // namespace
}  // namespace resilin
