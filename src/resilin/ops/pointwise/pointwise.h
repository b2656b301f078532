// src/resilin/ops/pointwise/pointwise.h -- Internal: formulas, references and samples that pointwise ops share.
#pragma once

#include "resilin/ir/op.h"

namespace resilin::ops {

/// The larger or smaller of two elements; NaN wins, and of Bools true is larger.
loop::Scalar larger(const loop::Scalar& a, const loop::Scalar& b);
loop::Scalar smaller(const loop::Scalar& a, const loop::Scalar& b);

/// Fills the output with f(x) over double or, for integer and Bool inputs, over i64.
template <class Real, class Integer>
void reference_unary(ir::ReferenceCall& call, Real real, Integer integer) {
  const ir::Array& x = call.input(0);
  for (i64 i = 0; i < call.output().numel(); ++i) {
    if (x.is_real()) {
      call.output().set(i, real(x.real(i)));
    } else {
      call.output().set_integer(i, integer(x.integer(i)));
    }
  }
}
template <class Real>
void reference_unary(ir::ReferenceCall& call, Real real) {
  reference_unary(call, real, [&](i64 x) { return static_cast<i64>(real(static_cast<double>(x))); });
}

/// Fills the output with f(a, b), broadcasting; over i64 when the output is no float.
template <class Real, class Integer>
void reference_binary(ir::ReferenceCall& call, Real real, Integer integer) {
  ir::Array& out = call.output();
  for (i64 i = 0; i < out.numel(); ++i) {
    const std::vector<i64> index = ir::unravel(i, out.shape);
    const i64 a = ir::broadcast_position(index, call.input(0).shape);
    const i64 b = ir::broadcast_position(index, call.input(1).shape);
    if (call.input(0).is_real() || call.input(1).is_real()) {
      const double value = real(call.input(0).real(a), call.input(1).real(b));
      if (out.is_real()) {
        out.set(i, value);
      } else {
        out.set_integer(i, static_cast<i64>(value));
      }
    } else {
      out.set_integer(i, integer(call.input(0).integer(a), call.input(1).integer(b)));
    }
  }
}

/// One tensor [m, n].
std::vector<ir::Sample> samples_unary();
/// The same with positive values.
std::vector<ir::Sample> samples_positive();
/// [m, n] with [m, n], with a row, a column, a 0-d tensor, and a number on either side.
std::vector<ir::Sample> samples_binary();
/// [m, n] by [m, n] without the integer 0, and by a number.
std::vector<ir::Sample> samples_divisor();

}  // namespace resilin::ops
