// tests/support/row_nests.cpp -- nests with reductions and scans.
#include <cmath>

#include "tests/support/nests.h"

namespace resilin::test {

namespace {

using loop::Code;
using loop::Combiner;
using loop::Let;
using loop::Loop;
using loop::LoopKind;
using loop::Mutant;
using loop::Scalar;
using loop::Scan;
using loop::Store;

NestCase start(bool symbolic) {
  NestCase c;
  c.symbolic = symbolic;
  return c;
}

Scalar left(DType dtype) { return Scalar::input(dtype, 0); }
Scalar right(DType dtype) { return Scalar::input(dtype, 1); }
Combiner sum_of(const Scalar& x) { return {{Scalar::constant(x.dtype(), 0)}, {x}, {left(x.dtype()) + right(x.dtype())}}; }
Combiner max_of(const Scalar& x) {
  const Scalar lowest = x.dtype() == DType::F32 ? Scalar::constant(DType::F32, -INFINITY) : Scalar::constant_integer(x.dtype(), -1000000);
  return {{lowest}, {x}, {max(left(x.dtype()), right(x.dtype()))}};
}
/// The largest value and where it is; the earlier of equals.
Combiner argmax_of(const Scalar& x, const Scalar& position) {
  const Scalar a = Scalar::input(x.dtype(), 0), ka = Scalar::input(DType::I64, 1), b = Scalar::input(x.dtype(), 2),
               kb = Scalar::input(DType::I64, 3);
  const Scalar takes_right = (b > a) | ((b <= a) & (b >= a) & (kb < ka)) | (is_nan(b) & !is_nan(a));
  return {{Scalar::constant(x.dtype(), -INFINITY), Scalar::constant_integer(DType::I64, 1 << 30)},
          {x, position},
          {select(takes_right, b, a), select(takes_right, kb, ka)}};
}
loop::Reduce over_row(int variable, Dim extent, int lanes, Combiner combiner, std::vector<int> results, loop::Block body = {}) {
  return {{symbol_i(variable)}, {extent}, lanes, std::move(body), std::move(combiner), std::move(results)};
}
Scalar local(DType dtype, int index) { return Scalar::local(dtype, index); }

/// Row sums in f32 of bf16 and i64 rows.
NestCase row_sums(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::BF16, 5 * n), y = c.input(DType::I64, 5 * n), out = c.output(DType::F32, 5),
            totals = c.output(DType::I64, 5);
  const Dim columns = c.size(n);
  c.phase(5, false,
          block(over_row(1, columns, 64, sum_of(cast(c.load(x, columns * i(0) + i(1)), DType::F32)), {0}),
                Store{out, i(0), local(DType::F32, 0), {}}, over_row(1, columns, 64, sum_of(c.load(y, columns * i(0) + i(1))), {1}),
                Store{totals, i(0), local(DType::I64, 1), {}}));
  return c;
}

/// Three stages over a row that is kept: like softmax (exp replaced by a polynomial).
NestCase kept_row(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::F32, 4 * n), out = c.output(DType::F32, 4 * n);
  const Dim columns = c.size(n);
  const int row = c.row(DType::F32, columns), other = c.row(DType::F64, columns + 1);
  const Scalar element = c.load(x, columns * i(0) + i(1));
  const Scalar shifted = c.load(row, i(1)) - local(DType::F32, 1);
  const Scalar power = fma(shifted, fma(shifted, constant_like(shifted, 0.5), 1.0), 1.0);
  c.phase(
      4, false,
      block(
          over_row(1, columns, 64, max_of(local(DType::F32, 0)), {1},
                   block(Let{0, element * 2.0, {}}, Store{row, i(1), local(DType::F32, 0), {}})),
          over_row(1, columns, 64, sum_of(local(DType::F32, 2)), {3},
                   block(Let{2, power, {}}, Store{row, i(1), local(DType::F32, 2), {}},
                         Store{other, i(1) + 1, cast(local(DType::F32, 2), DType::F64), {}})),
          Loop{
              symbol_i(1), columns, LoopKind::Vector,
              block(Store{
                  out, columns * i(0) + i(1), c.load(row, i(1)) / local(DType::F32, 3) + cast(c.load(other, i(1) + 1), DType::F32), {}})}));
  return c;
}

/// Mean, variance, then a scaled row.
NestCase normalised(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::BF16, 3 * n), weight = c.input(DType::BF16, n), out = c.output(DType::BF16, 3 * n),
            means = c.output(DType::F32, 3);
  const Dim columns = c.size(n);
  const Scalar element = cast(c.load(x, columns * i(0) + i(1)), DType::F32);
  const Scalar count = cast(Scalar::integer(columns), DType::F32), mean = local(DType::F32, 1), centred = element - mean;
  const Scalar scale = 1.0 / sqrt(local(DType::F32, 2) / count + 1e-5);
  c.phase(3, false,
          block(over_row(1, columns, 64, sum_of(element), {0}), Let{1, local(DType::F32, 0) / count, {}},
                over_row(1, columns, 64, sum_of(centred * centred), {2}), Let{3, scale, {}}, Store{means, i(0), mean, {}},
                Loop{symbol_i(1), columns, LoopKind::Vector,
                     block(Store{out,
                                 columns * i(0) + i(1),
                                 cast(centred * local(DType::F32, 3) * cast(c.load(weight, i(1)), DType::F32), DType::BF16),
                                 {}})}));
  return c;
}

/// Value and position together; with rows that are masked to a triangle.
NestCase arg_max(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::F32, 4 * n), out = c.output(DType::F32, 4), where = c.output(DType::I64, 4);
  const Dim columns = c.size(n);
  const Scalar inside = Scalar::integer(i(1)) <= Scalar::integer(9 * i(0) + 5);
  const Scalar element = select(inside, c.load(x, columns * i(0) + i(1)), Scalar::constant(DType::F32, -5));
  c.phase(4, false,
          block(over_row(1, columns, 64, argmax_of(element, Scalar::integer(i(1))), {0, 1}), Store{out, i(0), local(DType::F32, 0), {}},
                Store{where, i(0), local(DType::I64, 1), {}}));
  return c;
}

/// Two reduced axes around a kept one, strided, with a check in the body.
NestCase two_axes(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::I32, 3 * 4 * (2 * n)), out = c.output(DType::I32, 4);
  const Dim columns = c.size(n), outer = c.size(3);
  const Scalar element = local(DType::I32, 0);
  c.phase(4, false,
          block(loop::Reduce{{symbol_i(1), symbol_i(2)},
                             {outer, columns},
                             64,
                             block(Let{0, c.load(x, 8 * columns * i(1) + 2 * columns * i(0) + 2 * i(2)), {}},
                                   loop::Check{element < Scalar::constant_integer(DType::I32, 97), 4, 0, (i(1) * 4 + i(0)) * columns + i(2),
                                               cast(element, DType::I64)}),
                             sum_of(element * element),
                             {1}},
                Store{out, i(0), local(DType::I32, 1), {}}));
  return c;
}

/// Column reductions inside of a vector loop, over the merged axis: sum, and value with position.
NestCase column_sums(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::F32, 7 * n), out = c.output(DType::F32, n), where = c.output(DType::I64, n),
            largest = c.output(DType::F32, n);
  const Dim columns = c.size(n), rows = c.size(7);
  const Scalar element = c.load(x, columns * i(1) + i(0));
  c.phase(columns, true,
          block(over_row(1, rows, 4, sum_of(element), {0}), Store{out, i(0), local(DType::F32, 0) * 0.5, {}},
                over_row(1, rows, 4, argmax_of(element, Scalar::integer(i(1))), {1, 2}), Store{largest, i(0), local(DType::F32, 1), {}},
                Store{where, i(0), local(DType::I64, 2), {}}));
  return c;
}

/// Few columns, many rows: the reduced axis has size n.
NestCase long_columns(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::BF16, 2 * 3 * n), scale = c.input(DType::F32, n), out = c.output(DType::F32, 6);
  const Dim rows = c.size(n);
  const Scalar element = cast(c.load(x, 3 * rows * i(0) + 3 * i(2) + i(1)), DType::F32) * c.load(scale, i(2));
  c.phase(2, false,
          block(Loop{symbol_i(1), 3, LoopKind::Vector,
                     block(over_row(2, rows, 4, sum_of(element), {0}), Store{out, 3 * i(0) + i(1), local(DType::F32, 0), {}})}));
  return c;
}

/// Scalar reductions of 4 lanes: a phase without any vector axis.
NestCase scalar_reduction(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::F64, 3 * n), out = c.output(DType::F64, 3), any = c.output(DType::Bool, 3);
  const Dim columns = c.size(n);
  const Scalar element = c.load(x, columns * i(0) + i(1));
  const Combiner is_any = {
      {Scalar::constant(DType::Bool, 0)}, {element > Scalar::constant(DType::F64, 3.9)}, {left(DType::Bool) | right(DType::Bool)}};
  c.phase(3, false,
          block(over_row(1, columns, 4, sum_of(element), {0}), Store{out, i(0), local(DType::F64, 0), {}},
                over_row(1, columns, 64, is_any, {1}), Store{any, i(0), local(DType::Bool, 1), {}}));
  return c;
}

/// Chunks into a Partial buffer, then one reduction over the chunks.
NestCase chunked(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::F32, n), out = c.output(DType::F32, 1);
  const Dim size = c.size(n);
  const Dim chunks = ceil_div(size, 20);
  const int partial = c.partial(DType::F32, chunks);
  c.phase(chunks, false,
          block(over_row(1, min(Dim(20), size - 20 * i(0)), 64, sum_of(c.load(x, 20 * i(0) + i(1))), {0}),
                Store{partial, i(0), local(DType::F32, 0), {}}));
  c.phase(1, false, block(over_row(1, chunks, 64, sum_of(c.load(partial, i(1))), {0}), Store{out, 0, local(DType::F32, 0), {}}));
  return c;
}

/// Scans along rows: sums, and the largest value with its position.
NestCase row_scans(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::F32, 3 * n), y = c.input(DType::I64, 3 * n);
  const int sums = c.output(DType::F32, 3 * n), where = c.output(DType::I64, 3 * n), totals = c.output(DType::I64, 3 * n);
  const Dim columns = c.size(n);
  const Dim position = columns * i(0) + i(1);
  c.phase(
      3, false,
      block(
          Scan{symbol_i(1),
               columns,
               64,
               block(Let{0, c.load(x, position) * 0.5, {}}),
               sum_of(local(DType::F32, 0)),
               {1},
               block(Store{sums, position, local(DType::F32, 1) + c.load(x, position), {}})},
          Scan{symbol_i(1),
               columns,
               64,
               {},
               argmax_of(c.load(x, position), Scalar::integer(i(1))),
               {2, 3},
               block(Store{where, position, local(DType::I64, 3), {}})},
          Scan{symbol_i(1), columns, 64, {}, sum_of(c.load(y, position)), {4}, block(Store{totals, position, local(DType::I64, 4), {}})}));
  return c;
}

/// Scans along columns inside of a vector loop, and one that is scalar.
NestCase column_scans(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::F32, 5 * n), y = c.input(DType::F32, 2 * n), out = c.output(DType::F32, 5 * n),
            single = c.output(DType::F32, 2 * n);
  const Dim columns = c.size(n);
  c.phase(columns, true,
          block(Scan{symbol_i(1),
                     5,
                     1,
                     {},
                     sum_of(c.load(x, columns * i(1) + i(0))),
                     {0},
                     block(Store{out, columns * i(1) + i(0), local(DType::F32, 0), {}})}));
  c.phase(2, false,
          block(Scan{symbol_i(1),
                     columns,
                     1,
                     {},
                     sum_of(c.load(y, 2 * i(1) + i(0))),
                     {0},
                     block(Store{single, 2 * i(1) + i(0), local(DType::F32, 0), {}})}));
  return c;
}

}  // namespace

std::vector<NamedNest> row_nests() {
  const std::vector<Mutant> reduced = {Mutant::TailMask, Mutant::Bound, Mutant::ReduceInit, Mutant::ReduceTree};
  std::vector<Mutant> reduced_with_cast = reduced, reduced_with_fill = reduced, reduced_with_check = reduced;
  reduced_with_cast.push_back(Mutant::Cast);
  reduced_with_fill.push_back(Mutant::Fill);
  reduced_with_check.insert(reduced_with_check.end(), {Mutant::Stride, Mutant::CheckMask});
  return {
      {"row sums", row_sums, reduced_with_cast},
      {"kept row", kept_row, reduced},
      {"normalised", normalised, reduced_with_cast},
      {"arg max", arg_max, reduced_with_fill},
      {"two axes", two_axes, reduced_with_check},
      {"column sums", column_sums, reduced},
      {"long columns", long_columns, reduced},
      {"scalar reduction", scalar_reduction, {Mutant::Bound, Mutant::ReduceInit, Mutant::ReduceTree}},
      {"chunked", chunked, reduced},
      {"row scans", row_scans, {Mutant::TailMask, Mutant::Bound, Mutant::ScanCarry}},
      {"column scans", column_scans, {Mutant::TailMask, Mutant::Bound, Mutant::ScanCarry}},
  };
}

}  // namespace resilin::test
