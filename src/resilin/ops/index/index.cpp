// src/resilin/ops/index/index.cpp -- x[...]: integers, slices, None and Ellipsis, tensors of positions and masks.
#include "resilin/ops/index/index.h"

#include <algorithm>
#include <vector>

#include "resilin/ops/create/fill.h"
#include "resilin/ops/index/gather.h"
#include "resilin/ops/index/nonzero.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/select.h"
#include "resilin/ops/view/axes.h"
#include "resilin/ops/view/range.h"
#include "resilin/ops/view/shape.h"
#include "resilin/ops/view/split.h"

namespace resilin {
namespace {

using Axes = SmallVector<i64, 5>;

// --- masks ---------------------------------------------------------------------------------------------------------------------------
const Tensor* as_mask(const Index& index) {
  const Tensor* const x = std::get_if<Tensor>(&index);
  return x != nullptr && x->dtype() == DType::Bool ? x : nullptr;
}

i64 axes_of(const Index& index) {
  if (const Tensor* mask = as_mask(index)) return mask->ndim();
  return std::holds_alternative<Ellipsis>(index) || std::holds_alternative<NewAxis>(index) ? 0 : 1;
}

void check_mask(const Tensor& x, const Tensor& mask, i64 axis) {
  if (mask.ndim() == 0) throw UnsupportedError("index: a mask without axes is missing; reshape it, or decide in C++");
  for (i64 a = 0; a < mask.ndim(); ++a) {
    if (axis + a < x.ndim() && may_be_equal(mask.size(a), x.size(axis + a))) continue;
    throw IndexError(cat("index: The shape of the mask ", mask.shape(), " at index ", a, " does not match the shape of the indexed tensor ",
                         x.shape(), " at index ", axis + a));
  }
}

// Each mask replaced by the positions of its true elements.
std::vector<Index> without_masks(const Tensor& x, std::span<const Index> indices) {
  i64 taken = 0;
  for (const Index& item : indices) taken += axes_of(item);
  std::vector<Index> items;
  i64 axis = 0;
  for (const Index& item : indices) {
    if (const Tensor* mask = as_mask(item)) {
      check_mask(x, *mask, axis);
      for (const Tensor& positions : unbind(nonzero(*mask), 1)) items.emplace_back(positions);
    } else {
      items.push_back(item);
    }
    axis += std::holds_alternative<Ellipsis>(item) ? x.ndim() - taken : axes_of(item);
  }
  return items;
}

// --- tensors of positions ------------------------------------------------------------------------------------------------------------
/// Positions along one axis of the view that the other indices make.
struct Positions {
  i64 axis;
  Tensor at;
};

// Counted from the start.
Tensor from_start(const Tensor& at, i64 size) {
  if (at.dtype() != DType::I64 && at.dtype() != DType::I32)
    throw DtypeError(cat("index: tensors used as indices must be i64, i32 or bool, but one is ", at.dtype()));
  return where(lt(at, 0), at + size, at);
}

// Positions in the chosen axes as one; each is checked against its own axis, by a look-up in the numbers that it adds.
Tensor merged_positions(const Tensor& view, std::span<const Positions> chosen) {
  if (chosen.size() == 1) return from_start(chosen[0].at, view.size(chosen[0].axis).value());
  Tensor merged;
  i64 stride = 1;
  for (std::size_t c = chosen.size(); c-- > 0;) {
    const i64 size = view.size(chosen[c].axis).value();
    const Tensor at = from_start(chosen[c].at, size);
    const Tensor part = reshape(index_select(iota(size, DType::I64, 0, stride), 0, flatten(at)), at.shape());
    merged = merged.defined() ? part + merged : part;
    stride *= size;
  }
  return merged;
}

// The chosen axes first, as one.
Tensor rows_of(const Tensor& view, std::span<const Positions> chosen, std::span<const i64> kept) {
  Axes order;
  Dim rows = 1;
  for (const Positions& p : chosen) {
    order.push_back(p.axis);
    rows *= view.size(p.axis);
  }
  order.append(kept.begin(), kept.end());
  Shape shape{rows};
  for (const i64 axis : kept) shape.push_back(view.size(axis));
  return reshape(permute(view, order), shape);
}

Tensor gathered(const Tensor& view, std::span<const Positions> chosen) {
  Axes kept;
  for (i64 axis = 0; axis < view.ndim(); ++axis) {
    if (std::none_of(chosen.begin(), chosen.end(), [&](const Positions& p) { return p.axis == axis; })) kept.push_back(axis);
  }
  const Tensor at = merged_positions(view, chosen);
  const Tensor found = index_select(rows_of(view, chosen, kept), 0, flatten(at));
  Shape shape = at.shape();
  for (const i64 axis : kept) shape.push_back(view.size(axis));
  const Tensor result = reshape(found, shape);
  const bool is_gapless = chosen.back().axis - chosen.front().axis == static_cast<i64>(chosen.size()) - 1;
  const i64 before = is_gapless ? chosen.front().axis : 0;  // kept axes that stay in front
  if (before == 0) return result;
  Axes order;
  for (i64 axis = 0; axis < before; ++axis) order.push_back(at.ndim() + axis);
  for (i64 axis = 0; axis < at.ndim(); ++axis) order.push_back(axis);
  for (i64 axis = at.ndim() + before; axis < result.ndim(); ++axis) order.push_back(axis);
  return permute(result, order);
}

}  // namespace

Tensor index(const Tensor& x, std::span<const Index> indices) {
  const std::vector<Index> items = without_masks(x, indices);
  std::vector<Positions> chosen;
  Tensor view = x;
  Shape shape;  // of the view; selected axes are dropped and new ones added at the end
  i64 axis = 0;
  bool is_reshaped = false;
  for (const AxisIndex& at : resolve_index(x.shape(), items)) {
    if (at.kind == AxisIndex::Kind::NewAxis) {
      shape.push_back(1);
      is_reshaped = true;
      continue;
    }
    const bool selects = at.kind == AxisIndex::Kind::Select;
    if (at.kind == AxisIndex::Kind::Positions) {
      chosen.push_back({static_cast<i64>(shape.size()), std::get<Tensor>(items[static_cast<std::size_t>(at.start)])});
    } else {
      const i64 stop = selects ? at.start + 1 : at.stop;
      const bool is_whole = at.start == 0 && at.step == 1 && Dim(stop) == view.size(axis);
      if (!is_whole) view = slice(view, {axis, at.start, stop, at.step});
    }
    if (!selects) shape.push_back(view.size(axis));
    is_reshaped = is_reshaped || selects;
    ++axis;
  }
  if (is_reshaped) view = reshape(view, shape);
  return chosen.empty() ? view : gathered(view, chosen);
}
Tensor index(const Tensor& x, std::initializer_list<Index> indices) {
  return index(x, std::span<const Index>(indices.begin(), indices.size()));
}

}  // namespace resilin
