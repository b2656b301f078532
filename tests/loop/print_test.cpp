// tests/loop/print_test.cpp -- the canonical text of nests.
#include <limits>

#include <doctest/doctest.h>

#include "resilin/loop/math.h"
#include "resilin/loop/nest.h"

namespace resilin::loop {
namespace {

using Role = Buffer::Role;

Dim i(int k) { return Dim::symbol('i', k); }
Dim s(int k) { return Dim::symbol('s', k); }
Symbol variable(int k) { return {'i', k}; }

/// Softmax of rows, with loop variables and locals numbered from `first`.
Nest softmax(int first, const char* names) {
  const int row = first, column = first + 1;
  const Scalar left = Scalar::input(DType::F32, 0), right = Scalar::input(DType::F32, 1);
  const Dim at = i(row) * s(1) + i(column);
  const Scalar x = Scalar::load(DType::F32, 0, at);
  const Scalar highest = Scalar::local(DType::F32, first + 5), total = Scalar::local(DType::F32, first + 7);
  const Scalar lowest = Scalar::constant(DType::F32, -std::numeric_limits<double>::infinity());

  Block body;
  body.push_back({Reduce{{variable(column)}, {s(1)}, 64, {}, {{lowest}, {x}, {max(left, right)}}, {first + 5}}});
  Reduce sum{
      {variable(column)}, {s(1)}, 64, {}, {{Scalar::constant(DType::F32, 0)}, {Scalar::local(DType::F32, first + 6)}, {left + right}},
      {first + 7}};
  sum.body.push_back({Let{first + 6, Scalar::local(DType::F32, first + 5) - x, {}}});
  sum.body.push_back({Store{2, i(column), Scalar::local(DType::F32, first + 6), {}}});
  body.push_back({sum});
  body.push_back(
      {Loop{variable(column), s(1), LoopKind::Vector, {{Store{1, at, Scalar::load(DType::F32, 2, i(column)) / total, highest < total}}}}});

  Nest nest;
  nest.name = names;
  nest.buffers = {{names, DType::F32, Role::Input, 0}, {names, DType::F32, Role::Output, 0}, {names, DType::F32, Role::Row, s(1)}};
  nest.integer_count = 2;
  nest.phases.push_back({variable(row), s(0), false, body, Dim(first)});
  return nest;
}

TEST_CASE("a nest prints its parameters, loops and statements") {
  CHECK(print(softmax(0, "softmax")) ==
        "nest integers 2 arguments []\n"
        "b0: input f32\n"
        "b1: output f32\n"
        "b2: row f32 [s1]\n"
        "phase i0 < s0\n"
        "  reduce lanes 64: i1 < s1\n"
        "    element b0[i0*s1 + i1]\n"
        "    init f32:-inf\n"
        "    combine max(x0, x1)\n"
        "    let v0\n"
        "  reduce lanes 64: i2 < s1\n"
        "    let v1 = sub(v0, b0[i0*s1 + i2])\n"
        "    store b2[i2] = v1\n"
        "    element v1\n"
        "    init f32:0x0p+0\n"
        "    combine add(x0, x1)\n"
        "    let v2\n"
        "  for i3 < s1 vector\n"
        "    store b1[i0*s1 + i3] = div(b2[i3], v2) where lt(v0, v2)\n");
}

TEST_CASE("names, numbers of variables and costs are not part of the text") { CHECK(print(softmax(0, "a")) == print(softmax(17, "b"))); }

Nest store_of(Scalar value, DType dtype = DType::F32) {
  Nest nest;
  nest.buffers = {{"", DType::F32, Role::Input, 0}, {"", dtype, Role::Output, 0}};
  nest.argument_dtypes = {DType::F32};
  nest.phases.push_back({variable(0), Dim(8), true, {{Store{1, i(0), std::move(value), {}}}}, 1});
  return nest;
}
std::string text_of(const Scalar& value, DType dtype = DType::F32) {
  const std::string text = print(store_of(value, dtype));
  const std::string start = "phase i0 < 8 vector\n";
  return text.substr(text.find(start) + start.size());
}

TEST_CASE("equal expressions print equal whatever nodes they share") {
  const auto load = [] { return Scalar::load(DType::F32, 0, i(0)); };
  const Scalar x = load();
  const Scalar shared = x + 1.0;
  const std::string expected =
      "  %0 = add(b0[i0], f32:0x1p+0)\n"
      "  store b1[i0] = mul(%0, %0)\n";
  CHECK(text_of(shared * shared) == expected);
  CHECK(text_of((load() + 1.0) * (load() + 1.0)) == expected);
  CHECK(text_of(exp(load()) * exp(load())) == text_of(exp(x) * exp(x)));
  CHECK(text_of(shared * shared) != text_of((load() + 1.0) * (load() + 2.0)));
}

TEST_CASE("a deeply shared expression prints in linear space") {
  Scalar a = Scalar::load(DType::F32, 0, i(0)), b = a;
  for (int k = 0; k < 200; ++k) {
    a = a * a;
    b = Scalar::make(Code::Mul, DType::F32, {b, b});
  }
  CHECK(text_of(a) == text_of(b));
  CHECK(text_of(a).size() < 200 * 24);
}

TEST_CASE("constants print exactly, with their dtype") {
  const Scalar x = Scalar::load(DType::F32, 0, i(0));
  CHECK(text_of(x * 0.1) == "  store b1[i0] = mul(b0[i0], f32:0x1.99999ap-4)\n");
  CHECK(text_of(x + -0.0 + 0.0) == "  store b1[i0] = add(b0[i0], f32:0x0p+0)\n");
  CHECK(text_of(Scalar::constant_bits(DType::F32, 0x7fc00000)) == "  store b1[i0] = f32:nan#7fc00000\n");
  CHECK(text_of(Scalar::constant_bits(DType::F32, 0xffc00000)) != text_of(Scalar::constant_bits(DType::F32, 0x7fc00000)));
  CHECK(text_of(Scalar::constant(DType::I64, -3), DType::I64) == "  store b1[i0] = i64:-3\n");
  CHECK(text_of(Scalar::constant(DType::Bool, 1), DType::Bool) == "  store b1[i0] = true\n");
  CHECK(text_of(cast(x, DType::I32), DType::I32) == "  store b1[i0] = cast_i32(b0[i0])\n");
  CHECK(text_of(Scalar::argument(DType::F32, 0) * cast(Scalar::integer(i(0)), DType::F32)) == "  store b1[i0] = mul(a0, cast_f32({i0}))\n");
}

TEST_CASE("checks, scans, tables and bound symbols print") {
  const Scalar index = Scalar::load(DType::I64, 0, i(0));
  Block body;
  body.push_back({Let{9, index, Symbol{'t', 4}}});
  body.push_back({Check{index < Scalar::integer(s(0)), 1, 2, i(0), index}});
  body.push_back({TableLoop{variable(5),
                            {Symbol{'t', 8}, Symbol{'t', 6}},
                            {{Store{2, Dim::symbol('t', 4) + Dim::symbol('t', 6), Scalar::load(DType::F32, 1, i(5)), {}}}}}});
  const Scalar left = Scalar::input(DType::F32, 0), right = Scalar::input(DType::F32, 1);
  body.push_back({Scan{variable(1),
                       s(0),
                       64,
                       {},
                       {{Scalar::constant(DType::F32, 1)}, {Scalar::load(DType::F32, 2, i(1))}, {left * right}},
                       {3},
                       {{Store{2, i(1), Scalar::local(DType::F32, 3), {}}}}}});
  Nest nest;
  nest.buffers = {{"", DType::I64, Role::Input, 0}, {"", DType::F32, Role::Entry, 0}, {"", DType::F32, Role::Output, 0}};
  nest.integer_count = 1;
  nest.streaming = true;
  nest.phases.push_back({variable(0), s(0), false, body, 1});
  CHECK_NOTHROW(verify(nest));
  CHECK(print(nest) ==
        "nest integers 1 arguments [] streaming\n"
        "b0: input i64\n"
        "b1: entry f32\n"
        "b2: output f32\n"
        "phase i0 < s0\n"
        "  let v0 t0 = b0[i0]\n"
        "  %0 = b0[i0]\n"
        "  check lt(%0, {s0}) code 1 operand 2 element i0 value %0\n"
        "  for entry i1 t1 t2\n"
        "    store b2[t0 + t2] = b1[i1]\n"
        "  scan lanes 64: i2 < s0\n"
        "    element b2[i2]\n"
        "    init f32:0x1p+0\n"
        "    combine mul(x0, x1)\n"
        "    let v1\n"
        "    after\n"
        "      store b2[i2] = v1\n");
}

}  // namespace
}  // namespace resilin::loop
