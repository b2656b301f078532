// src/resilin/tensor/layout.cpp -- strides of shapes, and the questions asked of them.
#include "resilin/tensor/layout.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin {
namespace {

/// One axis with more than one position.
struct Axis {
  i64 size;
  i64 stride;
};
using Axes = SmallVector<Axis, 8>;

/// Axes of more than one position, largest stride first; nothing when the tensor is empty.
std::optional<Axes> moving_axes(std::span<const Dim> shape, std::span<const Dim> strides) {
  Axes axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const i64 size = shape[i].value();
    if (size == 0) return std::nullopt;
    if (size > 1) axes.push_back({size, strides[i].value()});
  }
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  return axes;
}

i64 checked_multiply_add(i64 a, i64 b, i64 sum) {
  i64 product_of_both = 0, out = 0;
  if (__builtin_mul_overflow(a, b, &product_of_both) || __builtin_add_overflow(sum, product_of_both, &out)) {
    throw ShapeError(cat("extent: the offsets of a layout leave 64 bits: ", a, " * ", b, " + ", sum, "; they must fit"));
  }
  return out;
}

/// Looks for two positions with one offset: a vector of index differences, not all zero, |d| < size, with sum of d * stride = 0.
///
/// Depth first from the largest stride; a branch dies when the axes that are left cannot reach the target or their common divisor does not divide it.
class CollisionSearch {
 public:
  enum class Answer { None, Found, GaveUp };
  explicit CollisionSearch(const Axes& axes) : axes_(axes), reach_(axes.size() + 1, 0), divisor_(axes.size() + 1, 0) {
    for (std::size_t k = axes.size(); k-- > 0;) {
      reach_[k] = checked_multiply_add(axes[k].size - 1, axes[k].stride, reach_[k + 1]);
      divisor_[k] = std::gcd(divisor_[k + 1], axes[k].stride);
    }
  }
  Answer run() { return search(0, 0, true); }

 private:
  Answer search(std::size_t k, i64 target, bool all_zero) {
    if (k == axes_.size()) return target == 0 && !all_zero ? Answer::Found : Answer::None;
    if (++steps_ > kMaxSteps) return Answer::GaveUp;
    if (target % divisor_[k] != 0) return Answer::None;
    const Axis axis = axes_[k];
    // -reach[k+1] <= target + d * stride <= reach[k+1]; the first difference that is not zero may be taken positive.
    const i64 reach = reach_[k + 1];
    const i64 low = std::max(all_zero ? 0 : 1 - axis.size, -floor_div(reach + target, axis.stride));
    const i64 high = std::min(axis.size - 1, floor_div(reach - target, axis.stride));
    for (i64 d = low; d <= high; ++d) {
      const Answer answer = search(k + 1, target + d * axis.stride, all_zero && d == 0);
      if (answer != Answer::None) return answer;
    }
    return Answer::None;
  }
  static i64 floor_div(i64 a, i64 b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

  static constexpr i64 kMaxSteps = 100'000;
  const Axes& axes_;
  SmallVector<i64, 8> reach_;    // largest offset that the axes k.. reach
  SmallVector<i64, 8> divisor_;  // greatest common divisor of the strides k..
  i64 steps_ = 0;
};

void check_same_count(std::span<const Dim> shape, std::span<const Dim> new_shape) {
  i64 old_count = 1, new_count = 1;
  for (const Dim d : shape) old_count = checked_multiply_add(old_count, d.value(), 0);
  for (const Dim d : new_shape) new_count = checked_multiply_add(new_count, d.value(), 0);
  if (old_count != new_count) {
    throw ShapeError(cat("reshape: shape '", new_shape, "' is invalid for input of size ", old_count, ": the input is ", shape));
  }
}

}  // namespace

Strides contiguous_strides(std::span<const Dim> shape) {
  Strides strides;
  strides.resize(shape.size());
  Dim next = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = next;
    if (!(shape[i] == 0) && !(shape[i] == 1)) next = next * shape[i];
  }
  return strides;
}

bool is_contiguous(std::span<const Dim> shape, std::span<const Dim> strides) {
  Dim expected = 1;
  bool matches = true;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (!matches || shape[i] == 1) continue;
    matches = strides[i] == expected;
    if (matches) expected = expected * shape[i];
  }
  return matches;
}

bool is_non_overlapping(std::span<const Dim> shape, std::span<const Dim> strides) {
  const std::optional<Axes> axes = moving_axes(shape, strides);
  if (!axes.has_value() || axes->empty()) return true;
  if (axes->back().stride == 0) return false;
  i64 reach = 0;
  bool nested = true;
  for (std::size_t k = axes->size(); k-- > 0;) {
    nested = nested && (*axes)[k].stride > reach;
    reach = checked_multiply_add((*axes)[k].size - 1, (*axes)[k].stride, reach);
  }
  return nested || CollisionSearch(*axes).run() == CollisionSearch::Answer::None;
}

i64 extent(std::span<const Dim> shape, std::span<const Dim> strides) {
  i64 last = 0;
  bool empty = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const i64 size = shape[i].value();
    empty = empty || size == 0;
    if (!empty) last = checked_multiply_add(size - 1, strides[i].value(), last);
  }
  return empty ? 0 : last + 1;
}

std::optional<Strides> reshape_strides(std::span<const Dim> shape, std::span<const Dim> strides, std::span<const Dim> new_shape) {
  check_same_count(shape, new_shape);
  if (std::equal(shape.begin(), shape.end(), new_shape.begin(), new_shape.end())) return Strides(strides);
  if (std::find(shape.begin(), shape.end(), Dim(0)) != shape.end()) return contiguous_strides(new_shape);

  // From the last axis on, old axes that follow each other without a gap form a chunk; the new axes must cut each chunk in whole axes.
  Strides out;
  out.resize(new_shape.size(), 1);
  std::size_t next = new_shape.size();  // new axes next.. have their stride
  i64 chunk_count = 1;                  // positions in the chunk so far
  i64 chunk_stride = strides.empty() ? 1 : strides.back().value();
  for (std::size_t i = shape.size(); i-- > 0;) {
    chunk_count *= shape[i].value();
    const bool chunk_ends = i == 0 || (!(shape[i - 1] == 1) && strides[i - 1].value() != chunk_count * chunk_stride);
    if (!chunk_ends) continue;
    i64 covered = 1;
    while (next > 0 && (covered < chunk_count || new_shape[next - 1] == 1)) {
      --next;
      out[next] = covered * chunk_stride;
      covered *= new_shape[next].value();
    }
    if (covered != chunk_count) return std::nullopt;
    if (i > 0) {
      chunk_count = 1;
      chunk_stride = strides[i - 1].value();
    }
  }
  return out;  // for a 0-d input every new axis has size 1 and stride 1
}

}  // namespace resilin
