// tests/loop/verify_test.cpp -- each rule of a nest, broken once.
#include <doctest/doctest.h>

#include "resilin/loop/nest.h"

namespace resilin::loop {
namespace {

using Role = Buffer::Role;

Dim i(int k) { return Dim::symbol('i', k); }
Symbol variable(int k) { return {'i', k}; }
Scalar load(int buffer, Dim offset) { return Scalar::load(DType::F32, buffer, offset); }
Store store(int buffer, Dim offset, Scalar value, Scalar mask = {}) { return {buffer, offset, std::move(value), std::move(mask)}; }
Scalar zero() { return Scalar::constant(DType::F32, 0); }

/// One phase over i0 < s0 with an input b0, an output b1, a Row buffer b2 and an Entry b3.
Nest nest_of(Block body, bool vector = false) {
  Nest nest;
  nest.buffers = {{"x", DType::F32, Role::Input, 0},
                  {"y", DType::F32, Role::Output, 0},
                  {"r", DType::F32, Role::Row, Dim::symbol('s', 0)},
                  {"e", DType::F32, Role::Entry, 0}};
  nest.integer_count = 1;
  nest.phases.push_back({variable(0), Dim::symbol('s', 0), vector, std::move(body), Dim(1)});
  return nest;
}

Reduce sum(Symbol over, int lanes, int result) {
  const Scalar left = Scalar::input(DType::F32, 0), right = Scalar::input(DType::F32, 1);
  return {{over}, {Dim(8)}, lanes, {}, {{zero()}, {load(0, Dim::symbol(over))}, {left + right}}, {result}};
}

void check_refused(const Nest& nest, const char* words) {
  INFO(words);
  CHECK_THROWS_WITH_AS(verify(nest), doctest::Contains(words), InternalError);
}

TEST_CASE("a nest that keeps the rules passes") {
  Block body;
  body.push_back({sum(variable(1), 64, 0)});
  body.push_back(
      {Loop{variable(1), Dim(8), LoopKind::Vector, {{store(1, i(0) * 8 + i(1), load(0, i(1)) + Scalar::local(DType::F32, 0))}}}});
  CHECK_NOTHROW(verify(nest_of(body)));
}

TEST_CASE("symbols and locals must be in scope, once") {
  check_refused(nest_of({{store(1, i(1), zero())}}), "i1 is not in scope in i1");
  check_refused(nest_of({{store(1, Dim::symbol('s', 1), zero())}}), "s1 is not in scope");
  check_refused(nest_of({{store(1, i(0), Scalar::local(DType::F32, 4))}}), "local 4 is not defined here");
  check_refused(nest_of({{Loop{variable(0), Dim(2), LoopKind::Serial, {}}}}), "i0 is bound again");
  check_refused(nest_of({{Let{0, zero(), {}}}, {Let{0, zero(), {}}}}), "local 0 is defined again");
  check_refused(
      nest_of({{Loop{variable(1), Dim(2), LoopKind::Serial, {{Let{0, zero(), {}}}}}}, {store(1, i(0), Scalar::local(DType::F32, 0))}}),
      "local 0 is not defined here");
  check_refused(nest_of({{Let{0, zero(), {}}}, {store(1, i(0), cast(Scalar::local(DType::F64, 0), DType::F32))}}),
                "local 0 is f32, read as f64");
  check_refused(nest_of({{Let{0, zero(), Symbol{'t', 0}}}}), "t0 names a value of f32; must be i64");
}

TEST_CASE("buffers are used by role and dtype") {
  check_refused(nest_of({{store(0, i(0), zero())}}), "store to b0, which is an input");
  check_refused(nest_of({{store(9, i(0), zero())}}), "no buffer b9");
  check_refused(nest_of({{store(1, i(0), Scalar::constant(DType::F64, 0))}}), "store of f64 to b1, which holds f32");
  check_refused(nest_of({{store(1, i(0), cast(Scalar::load(DType::F64, 0, i(0)), DType::F32))}}), "load of f64 from b0");
  check_refused(nest_of({{store(1, i(0), load(3, i(0)))}}), "b3 is an entry of a table");
  check_refused(nest_of({{store(1, i(0), zero(), zero())}}), "mask of a store is f32; must be bool");
  check_refused(nest_of({{store(1, i(0), Scalar::argument(DType::F32, 0))}}), "no argument 0");
  check_refused(nest_of({{store(1, i(0), Scalar::input(DType::F32, 0))}}), "input 0 outside a combine");
}

TEST_CASE("vector loops are innermost") {
  const Loop inner{variable(1), Dim(2), LoopKind::Vector, {}};
  check_refused(nest_of({{inner}}, true), "lies inside a vector loop");
  check_refused(nest_of({{TableLoop{variable(1), {}, {}}}}, true), "table loop inside a vector loop");
  check_refused(nest_of({{sum(variable(1), 64, 0)}}, true), "64 lanes; must be a power of two, at most 8 inside a vector loop");
  CHECK_NOTHROW(verify(nest_of({{sum(variable(1), 4, 0)}}, true)));
}

TEST_CASE("combiners have as many parts as components, of their dtypes") {
  Reduce bad = sum(variable(1), 3, 0);
  check_refused(nest_of({{bad}}), "3 lanes; must be a power of two");
  bad = sum(variable(1), 4, 0);
  bad.results = {0, 1};
  check_refused(nest_of({{bad}}), "1 elements, 1 combines, 2 results");
  bad = sum(variable(1), 4, 0);
  bad.combiner.init[0] = Scalar::constant(DType::F64, 0);
  check_refused(nest_of({{bad}}), "reads input 0 as f32; it is f64");
  bad = sum(variable(1), 4, 0);
  bad.combiner.combine[0] = Scalar::input(DType::F32, 2);
  check_refused(nest_of({{bad}}), "combine reads input 2; there are 2");
  bad = sum(variable(1), 4, 0);
  bad.body.push_back({Loop{variable(2), Dim(2), LoopKind::Serial, {}}});
  check_refused(nest_of({{bad}}), "a loop inside the body of a reduce");
}

TEST_CASE("row buffers start at multiples of 64 bytes") {
  Nest nest;
  nest.buffers = {{"", DType::F32, Role::Row, 3},
                  {"", DType::F32, Role::Input, 0},
                  {"", DType::U8, Role::Row, Dim::symbol('s', 0)},
                  {"", DType::F64, Role::Row, 16}};
  CHECK(row_offset_bytes(nest, 0) == 0);
  CHECK(row_offset_bytes(nest, 2) == 64);
  const Dim bytes = row_bytes(nest);
  CHECK(evaluate(bytes, [](Symbol) { return i64{65}; }) == 64 + 128 + 128);
  CHECK(evaluate(row_offset_bytes(nest, 3), [](Symbol) { return i64{64}; }) == 128);
}

}  // namespace
}  // namespace resilin::loop
