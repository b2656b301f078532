// src/resilin/ops/index/nonzero.cpp -- positions of the elements that are not zero.
#include "resilin/ops/index/nonzero.h"

#include "resilin/ir/attrs_info.h"

namespace resilin {
namespace {

std::vector<ir::Type> infer_nonzero(ir::InferContext& c) {
  const Dim count = c.fresh("count", 0, product(c.shape(0)));
  return {{DType::I64, {count, static_cast<i64>(c.shape(0).size())}, {}}};
}

// A position that moves through a strided tensor in row-major order.
class Walker {
 public:
  explicit Walker(const Tensor& x) : shape_(x.shape()), strides_(x.strides()), index_(x.shape().size(), 0) {}
  i64 offset() const { return offset_; }
  const std::vector<i64>& index() const { return index_; }
  void step() {
    for (std::size_t a = index_.size(); a-- > 0;) {
      offset_ += strides_[a].value();
      if (++index_[a] < shape_[a].value()) return;
      offset_ -= index_[a] * strides_[a].value();
      index_[a] = 0;
    }
  }

 private:
  const Shape& shape_;
  const Strides& strides_;
  std::vector<i64> index_;
  i64 offset_ = 0;
};

template <class T>
bool is_nonzero(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value != T{};
  } else {
    return static_cast<float>(value) != 0;
  }
}

template <class T>
Tensor positions(const Tensor& x) {
  const T* const data = static_cast<const T*>(x.data());
  const i64 total = x.numel().value();
  i64 count = 0;
  Walker counter(x);
  for (i64 i = 0; i < total; ++i, counter.step()) count += is_nonzero(data[counter.offset()]) ? 1 : 0;
  const Tensor out = Tensor::allocate(Shape{count, x.ndim()}, DType::I64);
  i64* to = static_cast<i64*>(out.data());
  Walker walker(x);
  for (i64 i = 0; i < total; ++i, walker.step()) {
    if (!is_nonzero(data[walker.offset()])) continue;
    for (const i64 position : walker.index()) *to++ = position;
  }
  return out;
}

void nonzero_reference(ir::ReferenceCall& call) {
  const ir::Array& x = call.input(0);
  const i64 ndim = static_cast<i64>(x.shape.size());
  std::vector<i64> found;
  for (i64 i = 0; i < x.numel(); ++i) {
    if (x.is_real() ? x.real(i) == 0 : x.integer(i) == 0) continue;
    for (const i64 position : ir::unravel(i, x.shape)) found.push_back(position);
  }
  i64 count = ndim == 0 ? 0 : static_cast<i64>(found.size()) / ndim;
  if (ndim == 0) count = (x.is_real() ? x.real(0) == 0 : x.integer(0) == 0) ? 0 : 1;
  call.output() = ir::Array::zeros(DType::I64, {count, ndim});
  call.output().integers = found;
}

std::vector<ir::Sample> nonzero_samples() {
  const Shape shape{Dim::symbol('s', 0), Dim::symbol('s', 1)};
  return {{{{.shape = shape, .fill = ir::Fill::Boolean}}, {}, {3, 37}}, {{{.shape = shape}}, {}, {3, 37}}};
}

constexpr ir::OpDef nonzero_op{
    .name = "nonzero",
    .doc = "Positions of the elements that are not zero, in row-major order.",
    .inputs = {{"x", "[...]"}},
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_nonzero,
    .lower = ir::Extern{[](const ir::ExternCall& call) {
                          const Tensor& x = call.inputs[0];
                          call.outputs[0] = visit_dtype(
                              x.dtype(), [&](auto zero) { return positions<decltype(zero)>(x); }, "nonzero");
                        },
                        "the size of the result depends on the elements: memory is allocated between counting and writing"},
    .reference = nonzero_reference,
    .samples = nonzero_samples,
};

constexpr const ir::OpDef* kTable[] = {&nonzero_op};

}  // namespace

constexpr OpTable kNonzeroOps = kTable;

Tensor nonzero(const Tensor& x) { return apply_one(nonzero_op, {x}); }

}  // namespace resilin
