// tests/loop/builder_test.cpp -- the builder shares, folds, hoists and drops; programs print one instruction a line.
#include "resilin/loop/builder.h"

#include <doctest/doctest.h>

namespace resilin::loop {
namespace {

std::string text(Builder& builder) { return print(Program{{builder.finish()}}); }

Value pointer(Builder& b, i64 slot) {
  return b.pure({.operation = Operation::Pointer, .is_pointer = true, .type = DType::F32, .immediate = slot});
}
Value load(Builder& b, Value from, Value at, bool constant) {
  return b.load({.operation = Operation::Load, .type = DType::F32, .a = from, .b = at}, constant);
}
void store(Builder& b, Value to, Value at, Value value) {
  b.effect({.operation = Operation::Store, .type = DType::F32, .a = to, .b = at, .c = value});
}

TEST_CASE("loop invariants and loads from constant memory leave a loop that surely runs, others stay") {
  Builder b;
  const Value in = pointer(b, 0), out = pointer(b, 1), end = b.pure({.operation = Operation::RangeEnd});
  const Value loop = b.begin_loop(b.integer(0), end, 1, {}, true);
  const Value scale = load(b, in, b.integer(3), true);
  const Value changing = load(b, out, b.integer(5), false);
  const Value square = b.compute(Operation::Mul, DType::F32, scale, scale);
  store(b, out, loop, b.compute(Operation::Add, DType::F32, square, changing));
  b.end_loop(loop, {});
  CHECK(text(b) ==
        "phase 0\n"
        "  %0 = pointer pointer #0\n"
        "  %1 = pointer pointer #1\n"
        "  %2 = range_end i64\n"
        "  %3 = constant i64 #0\n"
        "  %4 = constant i64 #3\n"
        "  %5 = load f32 %0, %4\n"
        "  %6 = constant i64 #5\n"
        "  %7 = mul f32 %5, %5\n"
        "  %8 = loop_begin i64 %3, %2 #1\n"
        "    %9 = load f32 %1, %6\n"
        "    %10 = add f32 %7, %9\n"
        "    store f32 %1, %8, %10 #0\n"
        "  loop_end i64 %8\n");
}

TEST_CASE("a load is not taken out of an if or out of a loop that may not run") {
  Builder b;
  const Value in = pointer(b, 0), end = b.pure({.operation = Operation::RangeEnd});
  const Value loop = b.begin_loop(b.integer(0), end, 1, {}, false);
  const Value in_loop = load(b, in, b.integer(1), true);
  const Value condition = b.compute(Operation::Gt, DType::Bool, loop, b.integer(7));
  const Value branch = b.begin_if(condition, false);
  const Value in_branch = load(b, in, b.integer(2), true);
  CHECK(b.depth(in_loop) == 1);
  CHECK(b.depth(in_branch) == 2);
  b.end_if(branch);
  b.end_loop(loop, {});
}

TEST_CASE("what only a cold block needs is made inside of it") {
  Builder b;
  const Value begin = b.pure({.operation = Operation::RangeBegin});
  const Value branch = b.begin_if(b.compute(Operation::Gt, DType::Bool, begin, b.integer(7)), true);
  const Value sum = b.add(begin, b.integer(1));
  CHECK(b.depth(sum) == 1);
  b.end_if(branch);
  CHECK(b.add(begin, b.integer(1)) != sum);
}

TEST_CASE("equal values are one value until memory changes") {
  Builder b;
  const Value data = pointer(b, 0), at = b.integer(0);
  const Value first = load(b, data, at, false);
  CHECK(load(b, data, at, false) == first);
  CHECK(b.compute(Operation::Add, DType::F32, first, first) == b.compute(Operation::Add, DType::F32, first, first));
  store(b, data, at, first);
  CHECK(load(b, data, at, false) != first);
  CHECK(load(b, pointer(b, 1), at, true) == load(b, pointer(b, 1), at, true));
}

TEST_CASE("integer arithmetic folds and keeps constants outside of sums") {
  Builder b;
  const Value x = b.pure({.operation = Operation::RangeBegin}), y = b.pure({.operation = Operation::RangeEnd});
  CHECK(b.known(b.add(b.mul(b.integer(6), b.integer(7)), b.integer(-2))) == 40);
  CHECK(b.add(x, b.integer(0)) == x);
  CHECK(b.add(x, y) == b.add(y, x));
  CHECK(b.add(b.add(x, b.integer(3)), b.integer(4)) == b.add(x, b.integer(7)));
  CHECK(b.add(x, b.add(y, b.integer(5))) == b.add(b.add(x, y), b.integer(5)));
  CHECK(b.mul(x, b.integer(1)) == x);
  CHECK(b.known(b.round_down(b.integer(77), 32)) == 64);
  CHECK(b.known(b.sub(x, x)) == 0);
  CHECK(b.known(b.minimum(b.integer(3), b.integer(9))) == 3);
}

TEST_CASE("carried values come out of the loop, and unused instructions disappear") {
  Builder b;
  const Value end = b.pure({.operation = Operation::RangeEnd}), start = b.constant(DType::F32, 0, 8);
  b.compute(Operation::Neg, DType::F32, start);
  const Value loop = b.begin_loop(b.integer(0), end, 8, {&start, 1}, false);
  const Value values = b.load({.operation = Operation::Load, .type = DType::F32, .lanes = 8, .a = pointer(b, 0), .b = loop}, true);
  const Value next = b.compute(Operation::Add, DType::F32, b.carried(loop, 0), values);
  const Value sum = b.end_loop(loop, {&next, 1})[0];
  b.effect({.operation = Operation::Store, .type = DType::F32, .lanes = 8, .a = pointer(b, 1), .b = b.integer(0), .c = sum});
  CHECK(text(b) ==
        "phase 0\n"
        "  %0 = range_end i64\n"
        "  %1 = constant f32x8 #0\n"
        "  %2 = constant i64 #0\n"
        "  %3 = pointer pointer #0\n"
        "  %4 = loop_begin i64 %2, %0 #8 [%1]\n"
        "    %5 = loop_carried f32x8 %4 #0\n"
        "    %6 = load f32x8 %3, %4\n"
        "    %7 = add f32x8 %5, %6\n"
        "  loop_end i64 %4 [%7]\n"
        "  %9 = loop_result f32x8 %4 #0\n"
        "  %10 = pointer pointer #1\n"
        "  store f32x8 %10, %2, %9 #0\n");
}

}  // namespace
}  // namespace resilin::loop
