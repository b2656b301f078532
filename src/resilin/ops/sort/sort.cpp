// src/resilin/ops/sort/sort.cpp -- sorting along an axis.
//
// Every element becomes an unsigned key of the same order; rows of (key, position) are sorted by a radix sort from the lowest byte upwards, which is
// stable, or by insertion where they are short. Values are then taken from the input by position, so -0 and the payload of NaN survive.
#include "resilin/ops/sort/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "resilin/base/thread_pool.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/index/index_add.h"
#include "resilin/ops/view/axes.h"

namespace resilin {
namespace {

constexpr i64 kShortRow = 48;            // below it insertion beats counting bytes
constexpr i64 kParallelElements = 4096;  // of rows that one thread takes at least

// --- keys ----------------------------------------------------------------------------------------------------------------------------
// NaN is the largest; both zeros are one key.
template <class Float, class Bits>
Bits float_key(Float value) {
  if (value != value) return ~Bits{0};
  const Bits bits = std::bit_cast<Bits>(value == 0 ? Float{0} : value);
  const Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
  return (bits & sign) != 0 ? ~bits : bits | sign;
}
std::uint64_t key_of(double value) { return float_key<double, std::uint64_t>(value); }
std::uint32_t key_of(float value) { return float_key<float, std::uint32_t>(value); }
std::uint32_t key_of(F16 value) { return key_of(static_cast<float>(value)); }
std::uint32_t key_of(BF16 value) { return key_of(static_cast<float>(value)); }
std::uint64_t key_of(i64 value) { return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63); }
std::uint32_t key_of(std::int32_t value) { return static_cast<std::uint32_t>(value) ^ (std::uint32_t{1} << 31); }
std::uint32_t key_of(std::uint8_t value) { return value; }
std::uint32_t key_of(bool value) { return value ? 1 : 0; }

template <class Key>
struct Entry {
  Key key;
  i64 position;
};

// --- one row -------------------------------------------------------------------------------------------------------------------------
template <class Key>
void insertion_sort(std::vector<Entry<Key>>& row) {
  for (std::size_t i = 1; i < row.size(); ++i) {
    const Entry<Key> entry = row[i];
    std::size_t at = i;
    for (; at > 0 && row[at - 1].key > entry.key; --at) row[at] = row[at - 1];
    row[at] = entry;
  }
}

template <class Key>
void radix_sort(std::vector<Entry<Key>>& row, std::vector<Entry<Key>>& other) {
  constexpr std::size_t kBytes = sizeof(Key);
  std::array<std::array<i64, 256>, kBytes> counts{};
  for (const Entry<Key>& entry : row) {
    for (std::size_t b = 0; b < kBytes; ++b) ++counts[b][entry.key >> (8 * b) & 255];
  }
  other.resize(row.size());
  for (std::size_t b = 0; b < kBytes; ++b) {
    std::array<i64, 256>& count = counts[b];
    if (count[row[0].key >> (8 * b) & 255] == static_cast<i64>(row.size())) continue;  // one byte for all
    i64 start = 0;
    for (i64& c : count) start += std::exchange(c, start);
    for (const Entry<Key>& entry : row) other[static_cast<std::size_t>(count[entry.key >> (8 * b) & 255]++)] = entry;
    row.swap(other);
  }
}

// --- all rows ------------------------------------------------------------------------------------------------------------------------
// A row's first element and the distance of its elements, in x and in the row-major outputs.
struct Rows {
  i64 size, in_stride, out_stride;
  i64 in_start(i64 row) const { return start_of(row, in_strides); }
  i64 out_start(i64 row) const { return start_of(row, out_strides); }
  std::vector<i64> shape, in_strides, out_strides;  // of the other axes

 private:
  i64 start_of(i64 row, const std::vector<i64>& strides) const {
    i64 at = 0;
    for (std::size_t a = shape.size(); a-- > 0; row /= shape[a]) at += row % shape[a] * strides[a];
    return at;
  }
};
Rows rows_along(const Tensor& x, const Tensor& out, i64 axis) {
  Rows rows{x.size(axis).value(), x.stride(axis).value(), out.stride(axis).value(), {}, {}, {}};
  for (i64 a = 0; a < x.ndim(); ++a) {
    if (a == axis) continue;
    rows.shape.push_back(x.size(a).value());
    rows.in_strides.push_back(x.stride(a).value());
    rows.out_strides.push_back(out.stride(a).value());
  }
  return rows;
}

template <class T>
void sort_rows(const Tensor& x, const Tensor& values, const Tensor& indices, const SortAttrs& attrs) {
  using Key = decltype(key_of(T{}));
  const Rows rows = rows_along(x, values, normalize_axis(attrs.axis, x.ndim(), "sort"));
  const T* const from = static_cast<const T*>(x.data());
  T* const to = static_cast<T*>(values.data());
  i64* const places = static_cast<i64*>(indices.data());
  const Key flip = attrs.descending ? ~Key{0} : Key{0};
  const i64 grain = std::max<i64>(1, kParallelElements / rows.size);
  parallel_for(0, x.numel().value() / rows.size, grain, [&](i64 begin, i64 end, int) {
    std::vector<Entry<Key>> row(static_cast<std::size_t>(rows.size));
    std::vector<Entry<Key>> other;
    for (i64 r = begin; r < end; ++r) {
      const T* const source = from + rows.in_start(r);
      for (i64 i = 0; i < rows.size; ++i)
        row[static_cast<std::size_t>(i)] = {static_cast<Key>(key_of(source[i * rows.in_stride]) ^ flip), i};
      if (rows.size < kShortRow) {
        insertion_sort(row);
      } else {
        radix_sort(row, other);
      }
      i64 at = rows.out_start(r);
      for (const Entry<Key>& entry : row) {
        to[at] = source[entry.position * rows.in_stride];
        places[at] = entry.position;
        at += rows.out_stride;
      }
    }
  });
}

void run_sort(const ir::ExternCall& call) {
  const Tensor& x = call.inputs[0];
  if (x.numel() == 0) return;
  visit_dtype(
      x.dtype(),
      [&](auto zero) {
        if constexpr (requires { key_of(zero); }) {
          sort_rows<decltype(zero)>(x, call.outputs[0], call.outputs[1], call.attributes<SortAttrs>());
        }
      },
      "sort");
}

std::vector<ir::Type> infer_sort(ir::InferContext& c) {
  c.axis(c.attrs<SortAttrs>().axis, static_cast<i64>(c.shape(0).size()));
  return {{c.dtype(0), c.shape(0), {}}, {DType::I64, c.shape(0), {}}};
}

std::vector<Tensor> sort_vjp(const ir::VjpCall& call) {
  const Tensor& g = call.grads[0];
  if (!g.defined() || !is_floating(call.inputs[0].dtype())) return {Tensor()};
  return {scatter_add(zeros(g.shape(), g.dtype()), call.attributes<SortAttrs>().axis, call.outputs[1], g)};
}

void sort_reference(ir::ReferenceCall& call) {
  const ir::Array& x = call.input(0);
  const SortAttrs& attrs = call.attributes<SortAttrs>();
  const i64 ndim = static_cast<i64>(x.shape.size());
  const i64 axis = normalize_axis(attrs.axis, ndim, "sort");
  const i64 size = x.shape[static_cast<std::size_t>(axis)];
  i64 stride = 1;
  for (i64 a = axis + 1; a < ndim; ++a) stride *= x.shape[static_cast<std::size_t>(a)];
  const auto less = [&](i64 a, i64 b) {
    if (!x.is_real()) return x.integer(a) < x.integer(b);
    return std::isnan(x.real(b)) ? !std::isnan(x.real(a)) : x.real(a) < x.real(b);
  };
  for (i64 start = 0; start < x.numel(); ++start) {
    if (start / stride % size != 0) continue;  // the first element of each row
    std::vector<i64> order(static_cast<std::size_t>(size));
    std::iota(order.begin(), order.end(), i64{0});
    const auto before = [&](i64 a, i64 b) { return less(start + a * stride, start + b * stride); };
    std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) { return attrs.descending ? before(b, a) : before(a, b); });
    for (i64 i = 0; i < size; ++i) {
      const i64 from = start + order[static_cast<std::size_t>(i)] * stride;
      if (x.is_real()) {
        call.output().set(start + i * stride, x.real(from));
      } else {
        call.output().set_integer(start + i * stride, x.integer(from));
      }
      call.output(1).set_integer(start + i * stride, order[static_cast<std::size_t>(i)]);
    }
  }
}

std::vector<ir::Sample> sort_samples() {
  const Shape shape{Dim::symbol('s', 0), Dim::symbol('s', 1)};
  return {{{{.shape = shape}}, ir::attrs_of(SortAttrs{-1, false}), {3, 37}},
          {{{.shape = shape}}, ir::attrs_of(SortAttrs{0, true}), {67, 5}},
          {{{.shape = shape, .fill = ir::Fill::Boolean}}, ir::attrs_of(SortAttrs{-1, true}), {3, 129}}};
}

constexpr ir::OpDef sort_op{
    .name = "sort",
    .doc = "Elements in order along an axis, and where they stood.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<SortAttrs>,
    .dtypes = ir::kArithmeticDTypes,
    .output_count = 2,
    .infer = infer_sort,
    .lower =
        ir::Extern{run_sort,
                   "the place of an element depends on all others, and counting bytes needs tables that loops over one index space lack"},
    .vjp = sort_vjp,
    .reference = sort_reference,
    .samples = sort_samples,
};

constexpr const ir::OpDef* kTable[] = {&sort_op};

}  // namespace

constexpr OpTable kSortOps = kTable;

Sorted sort(const Tensor& x, const SortAttrs& attrs) {
  if (x.defined() && x.ndim() == 0 && (attrs.axis == 0 || attrs.axis == -1))
    return {clone(x), zeros({}, DType::I64)};  // as in PyTorch, a 0-d tensor has an axis here
  const Input inputs[] = {x};
  Outputs outputs = apply(sort_op, inputs, ir::AttrsRef{&attrs, sort_op.attrs});
  return {outputs[0], outputs[1]};
}

}  // namespace resilin
