// tests/support/pointwise_nests.cpp -- nests without reductions: every form of access, mask, check and loop.
#include "tests/support/nests.h"

namespace resilin::test {

namespace {

using loop::Code;
using loop::Let;
using loop::Loop;
using loop::LoopKind;
using loop::Mutant;
using loop::Scalar;
using loop::Store;

NestCase start(bool symbolic) {
  NestCase c;
  c.symbolic = symbolic;
  return c;
}

/// out[i] = (x[i] * y[0] + a) in one dtype, over a merged axis.
NestCase arithmetic(DType dtype, i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(dtype, n), y = c.input(dtype, 1), out = c.output(dtype, n);
  const Dim size = c.size(n);
  const DType compute = compute_dtype(dtype);
  const Scalar value = cast(c.load(x, i(0)), compute) * cast(c.load(y, 0), compute) + c.argument(compute, 2);
  c.phase(size, true, block(Store{out, i(0), cast(value, dtype), {}}));
  return c;
}
NestCase arithmetic_f32(i64 n, bool symbolic) { return arithmetic(DType::F32, n, symbolic); }
NestCase arithmetic_f64(i64 n, bool symbolic) { return arithmetic(DType::F64, n, symbolic); }
NestCase arithmetic_bf16(i64 n, bool symbolic) { return arithmetic(DType::BF16, n, symbolic); }
NestCase arithmetic_f16(i64 n, bool symbolic) { return arithmetic(DType::F16, n, symbolic); }
NestCase arithmetic_u8(i64 n, bool symbolic) { return arithmetic(DType::U8, n, symbolic); }
NestCase arithmetic_i64(i64 n, bool symbolic) { return arithmetic(DType::I64, n, symbolic); }

/// Bool results, and a Select whose sides are named first.
NestCase compare(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::F32, n), y = c.input(DType::F32, n), flags = c.output(DType::Bool, n), out = c.output(DType::F32, n);
  const Dim size = c.size(n);
  const Scalar a = Scalar::local(DType::F32, 0), b = Scalar::local(DType::F32, 1);
  c.phase(size, true,
          block(Let{0, c.load(x, i(0)), {}}, Let{1, c.load(y, i(0)), {}}, Store{flags, i(0), a < b, {}},
                Store{out, i(0), select(a < b, sqrt(abs(a)), b), {}}));
  return c;
}

/// Constant, run-time and negative strides.
NestCase strided(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::F32, 2 * n + 1), y = c.input(DType::F32, 3 * n), z = c.input(DType::F32, n),
            out = c.output(DType::F32, 2 * n);
  const Dim size = c.size(n), stride = c.size(3), spread = c.size(2);
  const Scalar value = c.load(x, 2 * i(0) + 1) + c.load(y, stride * i(0)) * c.load(z, size - i(0) - 1);
  c.phase(size, true, block(Store{out, spread * i(0), value, {}}));
  return c;
}

/// Offsets through floordiv and mod of the vector variable, nested, by constants and by sizes.
NestCase divided(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::F32, n + 8), y = c.input(DType::F32, 5), z = c.input(DType::I32, 7 * n + 21), out = c.output(DType::F32, n),
            numbers = c.output(DType::I64, n);
  const Dim size = c.size(n), five = c.size(5);
  const Scalar a = c.load(x, floordiv(i(0), 3) + 2) + c.load(y, mod(i(0), five));
  const Scalar b = cast(c.load(z, 7 * floordiv(i(0), five) + mod(floordiv(i(0), 2), 4) + mod(mod(i(0), five), 3)), DType::F32);
  c.phase(size, true,
          block(Store{out, i(0), a + b, {}}, Store{numbers,
                                                   i(0),
                                                   Scalar::integer(floordiv(2 * i(0) - 9, five) * 100 + mod(3 * i(0) - 50, 7) +
                                                                   min(i(0), Dim(20)) * max(i(0), size - 5)),
                                                   {}}));
  return c;
}

/// Padding: a load that is only reached where its index is valid, on one axis and on two.
NestCase padded(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const i64 inner = std::max<i64>(n - 5, 0);
  const int x = c.input(DType::F32, inner), y = c.input(DType::BF16, std::max<i64>(n - 2, 0) * 2), out = c.output(DType::F32, n),
            wide = c.output(DType::BF16, 3 * n);
  const Dim size = c.size(n);
  const auto inside = [&](Dim index, Dim high) {
    return (Scalar::integer(index) >= Scalar::integer(0)) & (Scalar::integer(index) < Scalar::integer(high));
  };
  const Scalar one = select(inside(i(0) - 2, size - 5), c.load(x, i(0) - 2) * 2.0, Scalar::constant(DType::F32, 7));
  c.phase(size, true, block(Store{out, i(0), one, {}}));
  const Scalar row = Scalar::integer(i(0)) < Scalar::integer(2);
  const Scalar two = select(row, select(inside(i(1) - 1, size - 2), c.load(y, (size - 2) * i(0) + i(1) - 1), c.argument(DType::BF16, 1)),
                            Scalar::constant(DType::BF16, 0));
  c.phase(3, false, block(Loop{symbol_i(1), size, LoopKind::Vector, block(Store{wide, size * i(0) + i(1), two, {}})}));
  return c;
}

/// A load needed on both sides of a Select, and one that a later statement needs everywhere.
NestCase guarded_twice(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::F32, n), y = c.input(DType::F32, n), out = c.output(DType::F32, n), rest = c.output(DType::F32, n);
  const Dim size = c.size(n);
  const Scalar a = c.load(x, i(0)), b = c.load(y, i(0));
  const Scalar condition = Scalar::integer(i(0)) < Scalar::integer(floordiv(size, 2));
  const Scalar nested = select(b > Scalar::constant(DType::F32, 0), select(condition, a, b), select(condition, b, a * b));
  c.phase(size, true, block(Store{out, i(0), select(condition, a * 2.0, a - 1.0) + nested, {}}, Store{rest, i(0), a + b, {}}));
  return c;
}

/// Each of two loads decides whether the other happens.
NestCase guarded_in_a_circle(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::F32, n), y = c.input(DType::F32, n), out = c.output(DType::F32, n);
  const Dim size = c.size(n);
  const Scalar a = c.load(x, i(0)), b = c.load(y, i(0)), zero = Scalar::constant(DType::F32, 0);
  const Scalar low = Scalar::integer(i(0)) < Scalar::integer(floordiv(size, 2)),
               high = Scalar::integer(i(0)) >= Scalar::integer(floordiv(size, 3));
  const Scalar one = select(low, select(a > zero, b, zero + 1.0), zero - 2.0), two = select(high, select(b > zero, a, zero + 3.0), zero);
  c.phase(size, true, block(Store{out, i(0), one * two + one, {}}));
  return c;
}

/// Rows by columns with run-time strides, a broadcast row and a broadcast column.
NestCase rows_by_columns(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::F32, 5 * (n + 3)), row = c.input(DType::F32, n), column = c.input(DType::F32, 10),
            out = c.output(DType::F32, 5 * n);
  const Dim rows = c.size(5), columns = c.size(n), stride = c.size(n + 3);
  const Scalar value = (c.load(x, stride * i(0) + i(1)) + c.load(row, i(1))) * c.load(column, 2 * i(0));
  c.phase(rows, false, block(Loop{symbol_i(1), columns, LoopKind::Vector, block(Store{out, columns * i(0) + i(1), value, {}})}));
  return c;
}

/// Indices from memory, checked; some are out of range and load nothing.
NestCase gathered(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int index = c.input(DType::I64, n), x = c.input(DType::F32, 90), out = c.output(DType::F32, n);
  const Dim size = c.size(n), rows = c.size(90);
  const Scalar found = Scalar::local(DType::I64, 0);
  const Scalar ok = (found >= Scalar::integer(0)) & (found < Scalar::integer(rows));
  c.phase(size, true,
          block(Let{0, c.load(index, i(0)), symbol_t(0)}, loop::Check{ok, 1, 2, 3 * i(0) + 1, found},
                Store{out, i(0), select(ok, c.load(x, t(0)), Scalar::constant(DType::F32, -1)), {}}));
  return c;
}

/// Rows picked by an index: the index is the same for all lanes.
NestCase picked_rows(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int index = c.input(DType::I64, 4), x = c.input(DType::BF16, 6 * n), out = c.output(DType::BF16, 4 * n);
  c.set(index, {3, 5, 0, 3});
  const Dim columns = c.size(n);
  const Scalar found = Scalar::local(DType::I64, 0);
  const Scalar ok = (found >= Scalar::integer(0)) & (found < Scalar::integer(6));
  c.phase(
      4, false,
      block(Let{0, c.load(index, i(0)), symbol_t(0)}, loop::Check{ok, 1, 1, i(0), found},
            Loop{symbol_i(1), columns, LoopKind::Vector,
                 block(Store{
                     out, columns * i(0) + i(1), select(ok, c.load(x, columns * t(0) + i(1)), Scalar::constant(DType::BF16, 0)), {}})}));
  return c;
}

/// Masked stores: contiguous, strided, scattered, with a mask that is the same in all lanes.
NestCase masked_stores(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::F32, n), flag = c.input(DType::Bool, n), single = c.input(DType::Bool, 1);
  const int out = c.output(DType::F32, n), wide = c.output(DType::F32, 3 * n), scattered = c.output(DType::F32, n + 7),
            whole = c.output(DType::F32, n);
  const Dim size = c.size(n);
  const Scalar value = c.load(x, i(0)), mask = c.load(flag, i(0));
  c.phase(size, true,
          block(Store{out, i(0), value + 1.0, mask}, Store{wide, 3 * i(0), value, !mask},
                Store{scattered, 8 * floordiv(i(0), 8) + 7 - mod(i(0), 8), value * 2.0, mask | (value > Scalar::constant(DType::F32, 0))},
                Store{whole, i(0), value, c.load(single, 0)}));
  return c;
}

/// The lanes of a store meet in one element: the last one wins, as in serial order.
NestCase colliding_store(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::I32, n), out = c.output(DType::I32, 4);
  const Dim size = c.size(n);
  c.phase(1, false,
          block(Loop{symbol_i(1), size, LoopKind::Vector,
                     block(Store{out, 1, c.load(x, i(1)), {}}, Store{out, 3, Scalar::constant(DType::I32, 5), {}})}));
  return c;
}

/// A buffer that is read and written in place, twice in one iteration.
NestCase in_place(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.output(DType::F32, n), y = c.input(DType::F32, 1);
  const Dim size = c.size(n);
  const Scalar sum = c.load(x, i(0)) + c.load(y, 0);
  c.phase(size, true, block(Store{x, i(0), sum, {}}, Store{x, i(0), sum * 2.0, {}}));
  return c;
}

/// Checks in vectors and in scalars: the smallest failing element is reported.
NestCase checked(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int x = c.input(DType::I64, n), out = c.output(DType::I64, n);
  const Dim size = c.size(n);
  const Scalar value = Scalar::local(DType::I64, 0);
  const Scalar ok = value < Scalar::constant_integer(DType::I64, 60);
  c.phase(size, true,
          block(Let{0, c.load(x, i(0)), {}}, loop::Check{not_equal(value, Scalar::constant_integer(DType::I64, 0)), 2, 1, i(0), value},
                Store{out,
                      i(0),
                      div_int(Scalar::constant_integer(DType::I64, 1000), value) + mod_int(value, Scalar::constant_integer(DType::I64, 7)),
                      {}}));
  c.phase(size, false,
          block(Let{0, c.load(x, i(0)), {}}, loop::Check{ok, 3, 0, 2 * i(0), value * Scalar::constant_integer(DType::I64, 2)}));
  return c;
}

/// Operands of a concatenation as a table.
NestCase concatenated(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int out = c.output(DType::F32, 3 * (2 * n + 4));
  const int a = c.input(DType::F32, 3 * n), b = c.input(DType::F32, 12), d = c.input(DType::F32, 3 * n);
  const int source = c.entry(DType::F32);
  const Dim total = c.size(2 * n + 4);
  c.table_entry({a}, {n, 0});
  c.table_entry({b}, {4, n});
  c.table_entry({d}, {n, n + 4});
  c.phase(3, false,
          block(loop::TableLoop{symbol_i(1),
                                {{'t', 0}, {'t', 1}},
                                block(Loop{symbol_i(2), t(0), LoopKind::Vector,
                                           block(Store{out, total * i(0) + t(1) + i(2), c.load(source, t(0) * i(0) + i(2)), {}})})}));
  return c;
}

/// Accumulating into rows named by an index that may repeat: a serial loop around vectors.
NestCase index_added(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int index = c.input(DType::I64, 6), x = c.input(DType::F32, 6 * n), out = c.output(DType::F32, 3 * n);
  c.set(index, {2, 0, 2, 2, 1, 0});
  const Dim columns = c.size(n);
  const Dim target = columns * t(0) + i(2);
  c.phase(1, false,
          block(Loop{symbol_i(1), 6, LoopKind::Serial,
                     block(Let{0, c.load(index, i(1)), symbol_t(0)},
                           Loop{symbol_i(2), columns, LoopKind::Vector,
                                block(Store{out, target, c.load(out, target) + c.load(x, columns * i(1) + i(2)), {}})})}));
  return c;
}

/// Constants and numbers only; and a heavy body, which runs with fewer vectors in flight.
NestCase filled(i64 n, bool symbolic) {
  NestCase c = start(symbolic);
  const int out = c.output(DType::F32, n), numbers = c.output(DType::I64, n), heavy = c.output(DType::F32, n);
  const Dim size = c.size(n);
  Scalar chain = cast(Scalar::integer(i(0)), DType::F32);
  for (int k = 0; k < 30; ++k) chain = fma(chain, Scalar::constant(DType::F32, 0.75 + k), Scalar::constant(DType::F32, 1)) * 0.125;
  c.phase(size, true,
          block(Store{out, i(0), Scalar::constant(DType::F32, 1.5), {}}, Store{numbers, i(0), Scalar::integer(3 * i(0) + size), {}},
                Store{heavy, i(0), chain, {}}));
  return c;
}

}  // namespace

std::vector<NamedNest> pointwise_nests() {
  return {
      {"arithmetic f32", arithmetic_f32, {Mutant::TailMask, Mutant::Bound}},
      {"arithmetic f64", arithmetic_f64, {Mutant::TailMask, Mutant::Bound}},
      {"arithmetic bf16", arithmetic_bf16, {Mutant::TailMask, Mutant::Bound, Mutant::Cast}},
      {"arithmetic f16", arithmetic_f16, {Mutant::TailMask, Mutant::Bound, Mutant::Cast}},
      {"arithmetic u8", arithmetic_u8, {Mutant::TailMask, Mutant::Bound}},
      {"arithmetic i64", arithmetic_i64, {Mutant::TailMask, Mutant::Bound}},
      {"compare", compare, {Mutant::TailMask, Mutant::Bound}},
      {"strided", strided, {Mutant::TailMask, Mutant::Bound, Mutant::Stride}},
      {"divided", divided, {Mutant::TailMask, Mutant::Bound, Mutant::Cast}},
      {"padded", padded, {Mutant::TailMask, Mutant::Bound, Mutant::Fill}},
      {"guarded twice", guarded_twice, {Mutant::TailMask, Mutant::Bound}},
      {"guarded in a circle", guarded_in_a_circle, {Mutant::TailMask, Mutant::Bound}},
      {"rows by columns", rows_by_columns, {Mutant::TailMask, Mutant::Bound}},
      {"gathered", gathered, {Mutant::TailMask, Mutant::Bound, Mutant::Fill, Mutant::CheckMask}},
      {"picked rows", picked_rows, {Mutant::TailMask, Mutant::Bound}},
      {"masked stores", masked_stores, {Mutant::TailMask, Mutant::Bound, Mutant::Stride, Mutant::StoreMask}},
      {"colliding store", colliding_store, {Mutant::TailMask, Mutant::Bound, Mutant::Fill}},
      {"in place", in_place, {Mutant::TailMask, Mutant::Bound}},
      {"checked", checked, {Mutant::TailMask, Mutant::Bound, Mutant::CheckMask}},
      {"concatenated", concatenated, {Mutant::TailMask, Mutant::Bound}},
      {"index added", index_added, {Mutant::TailMask, Mutant::Bound}},
      {"filled", filled, {Mutant::TailMask, Mutant::Bound, Mutant::Fill, Mutant::Cast}},
  };
}

std::vector<NamedNest> all_nests() {
  std::vector<NamedNest> all = pointwise_nests();
  for (const NamedNest& nest : row_nests()) all.push_back(nest);
  return all;
}

}  // namespace resilin::test
