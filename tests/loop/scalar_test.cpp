// tests/loop/scalar_test.cpp -- building, folding, substituting and comparing expressions.
#include "resilin/loop/scalar.h"

#include <bit>

#include <doctest/doctest.h>

namespace resilin::loop {
namespace {

Scalar x(DType t) { return Scalar::input(t, 0); }
Scalar number(DType t, double v) { return Scalar::constant(t, v); }
bool is_constant(const Scalar& a, double v) { return a.code() == Code::Constant && a.bits() == number(a.dtype(), v).bits(); }

/// Doubles the number of paths with each step, not the number of nodes.
Scalar deep(Scalar a, int steps) {
  for (int i = 0; i < steps; ++i) a = a * a;
  return a;
}

TEST_CASE("constants are rounded to their dtype") {
  CHECK(number(DType::F32, 0.1).bits() == std::bit_cast<std::uint32_t>(0.1F));
  CHECK(number(DType::BF16, 1.5).bits() == 0x3fc0);
  CHECK(number(DType::I32, -1).bits() == ~std::uint64_t{0});
  CHECK(number(DType::U8, -1).bits() == 255);
  CHECK(number(DType::Bool, 2).bits() == 1);
  CHECK(Scalar::constant_integer(DType::I64, (i64{1} << 60) + 1).bits() == (std::uint64_t{1} << 60) + 1);
  CHECK_THROWS_AS(number(DType::I32, 2.5), InternalError);
}

TEST_CASE("operations on constants are computed at once") {
  CHECK(is_constant(number(DType::F32, 2) + 3.0, 5));
  CHECK(is_constant(cast(number(DType::F64, -2.5), DType::I32), -2));
  CHECK(is_constant(number(DType::I64, 1) << 40, 0x1p40));
  CHECK(is_constant(number(DType::F64, 1) < number(DType::F64, 2), 1));
  CHECK(is_constant(Scalar::integer(7), 7));
  CHECK(fma(number(DType::F32, 2), number(DType::F32, 3), 1.0).bits() == number(DType::F32, 7).bits());
}

TEST_CASE("what changes no bit folds away") {
  const Scalar f = x(DType::F32), i = x(DType::I64), b = x(DType::Bool);
  CHECK((f * 1.0).identity() == f.identity());
  CHECK((f / 1.0).identity() == f.identity());
  CHECK((f - 0.0).identity() == f.identity());
  CHECK((i + 0.0).identity() == i.identity());
  CHECK((i * 1.0).identity() == i.identity());
  CHECK(is_constant(i * 0.0, 0));
  CHECK((i << 0).identity() == i.identity());
  CHECK(cast(f, DType::F32).identity() == f.identity());
  CHECK(bitcast(i, DType::I64).identity() == i.identity());
  CHECK((b & number(DType::Bool, 1)).identity() == b.identity());
  CHECK((number(DType::Bool, 0) | b).identity() == b.identity());
  CHECK(is_constant(b & number(DType::Bool, 0), 0));
  CHECK(is_constant(b | number(DType::Bool, 1), 1));
  CHECK((i & number(DType::I64, -1)).identity() == i.identity());
  CHECK((!!b).identity() == b.identity());
  CHECK(select(number(DType::Bool, 1), f, f * f).identity() == f.identity());
  CHECK(select(b, f, f).identity() == f.identity());
}

TEST_CASE("what would change a bit stays") {
  const Scalar f = x(DType::F32), b = x(DType::Bool);
  CHECK((f + 0.0).code() == Code::Add);  // -0 + 0 is +0
  CHECK((f * 0.0).code() == Code::Mul);  // NaN, infinity, -0
  CHECK((0.0 - f).code() == Code::Sub);
  CHECK((f - f).code() == Code::Sub);
  CHECK((b ^ number(DType::Bool, 1)).code() == Code::Xor);
  CHECK(equal(f, f).code() == Code::Eq);  // false for NaN
  CHECK(cast(cast(f, DType::BF16), DType::F32).code() == Code::Cast);
}

TEST_CASE("dtypes that do not fit are internal errors that show them") {
  CHECK_THROWS_WITH_AS(x(DType::F32) + x(DType::F64), doctest::Contains("add: dtypes do not fit: result is f32, operands are f32 f64"),
                       InternalError);
  CHECK_THROWS_AS(x(DType::BF16) + x(DType::BF16), InternalError);
  CHECK_THROWS_AS(x(DType::I32) / x(DType::I32), InternalError);
  CHECK_THROWS_AS(div_int(x(DType::F32), x(DType::F32)), InternalError);
  CHECK_THROWS_AS(bitcast(x(DType::F32), DType::I64), InternalError);
  CHECK_THROWS_AS(select(x(DType::F32), x(DType::F32), x(DType::F32)), InternalError);
  CHECK_THROWS_AS(x(DType::Bool) + x(DType::Bool), InternalError);
  CHECK_THROWS_AS(sqrt(x(DType::I32)), InternalError);
  CHECK_THROWS_AS(x(DType::F32) + Scalar(), InternalError);
  CHECK(select(x(DType::Bool), x(DType::BF16), x(DType::BF16) /* another node */).dtype() == DType::BF16);
  CHECK((x(DType::Bool) < x(DType::Bool)).dtype() == DType::Bool);
}

TEST_CASE("substitution asks once per leaf node, keeps sharing and folds") {
  const Scalar a = x(DType::F64);
  const Scalar big = deep(a + a, 200);
  int asked = 0;
  const auto three = [&asked](const Scalar& leaf) {
    ++asked;
    return leaf.code() == Code::Input ? Scalar::local(leaf.dtype(), 3) : leaf;
  };
  const Scalar moved = substitute_leaves(big, three);
  CHECK(asked == 1);
  CHECK(operation_count(moved) == 201);
  CHECK(same_expression(moved, deep(Scalar::local(DType::F64, 3) + Scalar::local(DType::F64, 3), 200)));
  const Scalar same = substitute_leaves(big, [](const Scalar& leaf) { return leaf; });
  CHECK(same.identity() == big.identity());
  CHECK(is_constant(substitute_leaves(a * a, [](const Scalar&) { return number(DType::F64, 3); }), 9));
}

TEST_CASE("equality is structural and quick on shared graphs") {
  CHECK(same_expression(deep(x(DType::F32), 300), deep(x(DType::F32), 300)));
  CHECK_FALSE(same_expression(deep(x(DType::F32), 300), deep(x(DType::F32), 299)));
  CHECK_FALSE(same_expression(x(DType::F32), x(DType::F64)));
  CHECK_FALSE(same_expression(Scalar::load(DType::F32, 0, Dim::symbol('i', 0)), Scalar::load(DType::F32, 0, Dim::symbol('i', 1))));
  CHECK(same_expression(Scalar(), Scalar()));
  CHECK_FALSE(same_expression(x(DType::F32), Scalar()));
}

TEST_CASE("every operation has a name") {
  CHECK(name(Code::Constant) == "constant");
  CHECK(name(Code::ShiftRightLogical) == "shift_right_logical");
  CHECK(name(Code::Select) == "select");
}

}  // namespace
}  // namespace resilin::loop
