// src/resilin/ops/contract/matmul.cpp -- matrix products.
#include "resilin/ops/contract/matmul.h"

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/view/axes.h"
#include "resilin/ops/view/shape.h"

namespace resilin {
namespace {

std::vector<ir::Type> infer_matmul(ir::InferContext& c) {
  const Shape& a = c.shape(0);
  const Shape& b = c.shape(1);
  if (a.size() < 2 || b.size() < 2) throw ShapeError(cat(c.op(), ": inputs must have at least two axes: a is ", a, ", b is ", b));
  const Dim k = a.back();
  const Dim rows = b[b.size() - 2];
  if (!may_be_equal(k, rows)) {
    throw ShapeError(cat(c.op(), ": inner sizes differ: a is ", a, ", b is ", b, "; ", k, " must equal ", rows));
  }
  c.same(k, rows, "inner sizes differ");
  Shape shape = c.broadcast(std::span<const Dim>(a).first(a.size() - 2), std::span<const Dim>(b).first(b.size() - 2));
  shape.push_back(a[a.size() - 2]);
  shape.push_back(b.back());
  return {{c.dtype(0), shape, {}}};
}

Tensor rows_of(const Tensor& x) { return x.ndim() == 2 ? x : flatten(x, 0, -2); }

// Where b is one matrix for all of a's leading axes its gradient is one product over all rows.
std::vector<Tensor> matmul_vjp(const ir::VjpCall& call) {
  const Tensor& a = call.inputs[0];
  const Tensor& b = call.inputs[1];
  const Tensor& g = call.grads[0];
  const bool one_matrix = b.ndim() == 2;
  const auto to_b = [&] {
    return one_matrix ? matmul(transpose(rows_of(a), 0, 1), rows_of(g)) : ops::reduce_to(matmul(transpose(a, -2, -1), g), b);
  };
  return {call.wants(0) ? ops::reduce_to(matmul(g, transpose(b, -2, -1)), a) : Tensor(), call.wants(1) ? to_b() : Tensor()};
}

// Element [..., i, k] or [..., k, j] of an input for the batch index of the result.
i64 element_of(const ir::Array& x, const std::vector<i64>& index, i64 row, i64 column) {
  std::vector<i64> at = index;
  at[at.size() - 2] = row;
  at[at.size() - 1] = column;
  return ir::broadcast_position(at, x.shape);
}
void matmul_reference(ir::ReferenceCall& call) {
  const ir::Array& a = call.input(0);
  const ir::Array& b = call.input(1);
  ir::Array& out = call.output();
  const i64 inner = a.shape.back();
  for (i64 i = 0; i < out.numel(); ++i) {
    const std::vector<i64> index = ir::unravel(i, out.shape);
    const i64 row = index[index.size() - 2];
    double real = 0;
    std::uint64_t integer = 0;
    for (i64 k = 0; k < inner; ++k) {
      const i64 at_a = element_of(a, index, row, k);
      const i64 at_b = element_of(b, index, k, index.back());
      if (out.is_real()) {
        real += a.real(at_a) * b.real(at_b);
      } else {
        integer += static_cast<std::uint64_t>(a.integer(at_a)) * static_cast<std::uint64_t>(b.integer(at_b));
      }
    }
    if (out.is_real()) {
      out.set(i, real);
    } else {
      out.set_integer(i, static_cast<i64>(integer));
    }
  }
}

std::vector<ir::Sample> matmul_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim k = Dim::symbol('s', 1);
  const Dim n = Dim::symbol('s', 2);
  const Dim batch = Dim::symbol('s', 3);
  const auto matrix = [](Shape shape) { return ir::SampleInput{.shape = std::move(shape), .fill = ir::Fill::Small}; };
  return {{{matrix({m, k}), matrix({k, n})}, {}, {5, 37, 9}},
          {{matrix({batch, m, k}), matrix({batch, k, n})}, {}, {5, 17, 9, 3}},
          {{matrix({batch, m, k}), matrix({k, n})}, {}, {5, 17, 9, 3}},
          {{matrix({2, 1, m, k}), matrix({batch, k, n})}, {}, {5, 17, 9, 3}}};
}

constexpr ir::OpDef matmul_op{
    .name = "matmul",
    .doc = "Matrix product over the last two axes; leading axes broadcast.",
    .inputs = {{"a", "[..., m, k]"}, {"b", "[..., k, n]"}},
    .promote = ir::Promotion::First,
    .dtypes = ir::kFloats | ir::kInts,
    .infer = infer_matmul,
    .lower = ir::Contract{"...mk,...kn->...mn"},
    .vjp = matmul_vjp,
    .reference = matmul_reference,
    .samples = matmul_samples,
};

constexpr const ir::OpDef* kTable[] = {&matmul_op};

}  // namespace

constexpr OpTable kMatmulOps = kTable;

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined() || (a.ndim() >= 2 && b.ndim() >= 2)) return apply_one(matmul_op, {a, b});
  if (a.ndim() == 0 || b.ndim() == 0) {
    throw ShapeError(cat("matmul: both arguments to matmul need to be at least 1D, but they are ", a.ndim(), "D and ", b.ndim(), "D"));
  }
  const Dim k = a.size(-1);
  const Dim rows = b.ndim() == 1 ? b.size(0) : b.size(-2);
  if (!may_be_equal(k, rows)) {  // in the caller's shapes
    throw ShapeError(cat("matmul: inner sizes differ: a is ", a.shape(), ", b is ", b.shape(), "; ", k, " must equal ", rows));
  }
  const Tensor product = apply_one(matmul_op, {a.ndim() == 1 ? unsqueeze(a, 0) : a, b.ndim() == 1 ? unsqueeze(b, 1) : b});
  Shape shape = product.shape();
  if (b.ndim() == 1) shape.pop_back();
  if (a.ndim() == 1) shape.erase(shape.end() - (b.ndim() == 1 ? 1 : 2));
  return reshape(product, shape);
}

}  // namespace resilin
