// tests/oracle/view_adapters.cpp -- calls of views, joins and triangles.
#include <algorithm>
#include <limits>
#include <optional>

#include "resilin/ops/index/index.h"
#include "resilin/ops/join/cat.h"
#include "resilin/ops/view/axes.h"
#include "resilin/ops/view/range.h"
#include "resilin/ops/view/shape.h"
#include "resilin/ops/view/split.h"
#include "resilin/ops/view/triangle.h"

#include "tests/oracle/adapters.h"

namespace resilin::oracle {
namespace {

using Axes = SmallVector<i64, 5>;

i64 integer_or(const Argument& value, i64 otherwise) { return value.is_none() ? otherwise : value.integer(); }

std::vector<Dim> dims_from(const Call& c, std::size_t position) {
  const std::vector<i64> sizes = c.integers_from(position);
  return {sizes.begin(), sizes.end()};
}

Axes axes_from(const Call& c, std::size_t position, std::string_view name) {
  const std::vector<i64> axes = c.integers_from(position, name);
  return Axes(axes.begin(), axes.end());
}

Results call_cat(const Call& c) { return {cat(c.at(0).tensors(), integer_or(c.at(1, "dim"), 0))}; }
Results call_stack(const Call& c) { return {stack(c.at(0).tensors(), integer_or(c.at(1, "dim"), 0))}; }
Results call_chunk(const Call& c) { return chunk(c.at(0).tensor(), c.at(1).integer(), integer_or(c.at(2, "dim"), 0)); }
Results call_unbind(const Call& c) { return unbind(c.at(0).tensor(), integer_or(c.at(1, "dim"), 0)); }

Results call_split(const Call& c) {
  const Argument size = c.at(1);
  const i64 axis = integer_or(c.at(2, "dim"), 0);
  if (size.is_integer()) return split(c.at(0).tensor(), size.integer(), axis);
  return split(c.at(0).tensor(), std::span<const Dim>(size.dims()), axis);
}

// A start that is a tensor is read: our start is a number.
Results call_narrow(const Call& c) {
  const Argument start = c.at(2);
  return {narrow(c.at(0).tensor(), c.at(1).integer(), start.is_tensor() ? start.tensor().item<i64>() : start.integer(), c.at(3).integer())};
}

Results call_slice(const Call& c) {
  const i64 axis = integer_or(c.at(1, "dim"), 0);
  const i64 start = integer_or(c.at(2, "start"), 0);
  const i64 stop = integer_or(c.at(3, "end"), std::numeric_limits<i64>::max());
  return {slice(c.at(0).tensor(), axis, start, stop, integer_or(c.at(4, "step"), 1))};
}

Tensor positions_of(const Argument& list) {
  const std::vector<i64> values = list.integers();
  const Dim count[] = {static_cast<i64>(values.size())};
  return Tensor::of<i64>(values, count);
}

Index index_of(const Argument& item) {
  if (item.is_tensor()) return item.tensor();
  return item.is_list() ? Index(positions_of(item)) : item.index();
}

// Python takes a list of numbers alone as positions of the first axis, and a list that holds anything else as a tuple.
Results call_index(const Call& c) {
  const Argument what = c.at(1);
  if (!what.is_list()) return {index(c.at(0).tensor(), {index_of(what)})};
  const std::vector<Argument> items = what.list();
  if (std::all_of(items.begin(), items.end(), [](const Argument& item) { return item.is_integer(); })) {
    return {index(c.at(0).tensor(), {positions_of(what)})};
  }
  std::vector<Index> indices;
  for (const Argument& item : items) indices.push_back(index_of(item));
  return {index(c.at(0).tensor(), indices)};
}

Results call_pad(const Call& c) {
  std::size_t at = 2;
  if (const Argument mode = c.at(2, "mode"); mode.is_text()) ++at;
  const Argument value = c.at(at, "value");
  return {pad(c.at(0).tensor(), c.at(1).integers(), value.is_none() ? Number(0.0) : value.number())};
}

template <i64 kA, i64 kB>
Results call_transposed(const Call& c) {
  return {transpose(c.at(0).tensor(), kA, kB)};
}
Results call_expand(const Call& c) { return {expand(c.at(0).tensor(), dims_from(c, 1))}; }
Results call_reshape(const Call& c) { return {reshape(c.at(0).tensor(), dims_from(c, 1))}; }
Results call_expand_as(const Call& c) { return {expand(c.at(0).tensor(), c.at(1).tensor().shape())}; }
Results call_reshape_as(const Call& c) { return {reshape(c.at(0).tensor(), c.at(1).tensor().shape())}; }
Results call_ravel(const Call& c) { return {flatten(c.at(0).tensor())}; }
Results call_flatten(const Call& c) {
  return {flatten(c.at(0).tensor(), integer_or(c.at(1, "start_dim"), 0), integer_or(c.at(2, "end_dim"), -1))};
}
Results call_permute(const Call& c) { return {permute(c.at(0).tensor(), axes_from(c, 1, "dims"))}; }
Results call_transpose(const Call& c) { return {transpose(c.at(0).tensor(), c.at(1).integer(), c.at(2).integer())}; }
Results call_reversed(const Call& c) {
  Axes axes;
  for (i64 axis = c.at(0).tensor().ndim(); axis-- > 0;) axes.push_back(axis);
  return {permute(c.at(0).tensor(), axes)};
}

// Of torch.flip an empty list means no axis; so it does of ours.
Results call_flip(const Call& c) { return {flip(c.at(0).tensor(), axes_from(c, 1, "dims"))}; }
template <i64 kAxis>
Results flip_axis(const Call& c) {
  return {flip(c.at(0).tensor(), {kAxis})};
}

Results call_squeeze(const Call& c) {
  const Argument axis = c.at(1, "dim");
  return {axis.is_none() ? squeeze(c.at(0).tensor()) : squeeze(c.at(0).tensor(), axis.integer())};
}
Results call_unsqueeze(const Call& c) { return {unsqueeze(c.at(0).tensor(), c.at(1).integer())}; }
Results call_select(const Call& c) { return {select(c.at(0).tensor(), c.at(1).integer(), c.at(2).integer())}; }
Results call_tril(const Call& c) { return {tril(c.at(0).tensor(), integer_or(c.at(1, "diagonal"), 0))}; }
Results call_triu(const Call& c) { return {triu(c.at(0).tensor(), integer_or(c.at(1, "diagonal"), 0))}; }

constexpr Adapter kAdapters[] = {
    {"T", call_reversed},
    {"__getitem__", call_index},
    {"broadcast_to", call_expand},
    {"cat", call_cat},
    {"chunk", call_chunk},
    {"constant_pad_nd", call_pad},
    {"expand", call_expand},
    {"expand_as", call_expand_as},
    {"flatten", call_flatten},
    {"flip", call_flip},
    {"fliplr", flip_axis<1>},
    {"flipud", flip_axis<0>},
    {"mH", call_transposed<-2, -1>},
    {"mT", call_transposed<-2, -1>},
    {"narrow", call_narrow},
    {"nn.functional.pad.constant", call_pad},
    {"permute", call_permute},
    {"ravel", call_ravel},
    {"reshape", call_reshape},
    {"reshape_as", call_reshape_as},
    {"select", call_select},
    {"slice", call_slice},
    {"split", call_split},
    {"split.list_args", call_split},
    {"split_with_sizes", call_split},
    {"squeeze", call_squeeze},
    {"stack", call_stack},
    {"transpose", call_transpose},
    {"tril", call_tril},
    {"triu", call_triu},
    {"unbind", call_unbind},
    {"unsqueeze", call_unsqueeze},
    {"view", call_reshape},
    {"view_as", call_reshape_as},
};

}  // namespace

std::span<const Adapter> view_adapters() { return kAdapters; }

}  // namespace resilin::oracle
