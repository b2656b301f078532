// tests/loop/vectorize_test.cpp -- vectorised programs give the interpreter's bits, touch nothing else, and injected faults show.
#include "resilin/loop/vectorize.h"

#include <doctest/doctest.h>

#include "tests/support/nests.h"

namespace resilin::loop {
namespace {

using test::NestCase;
using test::Outcome;

constexpr VectorTarget kTargets[] = {{32, 16}, {64, 32}};

void check_sizes(const test::NamedNest& named) {
  for (const i64 n : {0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 130}) {
    for (const bool symbolic : {true, false}) {
      const NestCase nest = named.build(n, symbolic);
      verify(nest.nest);
      const Outcome expected = nest.interpret();
      REQUIRE(expected.refused == "");
      for (const VectorTarget& target : kTargets) {
        const Outcome outcome = nest.run(target);
        const bool same = same_outcome(outcome, expected);
        CHECK_MESSAGE(same, std::string(named.name), ", n = ", n, ", symbolic ", symbolic, ", vector_bytes ", target.vector_bytes, " ",
                      outcome.refused);
      }
    }
  }
}

/// A fault may hide in one size (the last element is seldom the largest), not in both.
void check_mutants(const test::NamedNest& named) {
  for (const Mutant mutant : named.mutants) {
    for (const VectorTarget& target : kTargets) {
      bool same = true;
      for (const i64 n : {127, 1}) {
        const NestCase nest = named.build(n, true);
        same = same && same_outcome(nest.run(target, mutant), nest.interpret());
      }
      CHECK_MESSAGE(!same, std::string(named.name), ", mutant ", static_cast<int>(mutant), ", vector_bytes ", target.vector_bytes);
    }
  }
}

TEST_CASE("pointwise programs give the interpreter's bits for every size near a vector's") {
  for (const test::NamedNest& nest : test::pointwise_nests()) check_sizes(nest);
}

TEST_CASE("reductions and scans give the interpreter's bits for every size near a block's") {
  for (const test::NamedNest& nest : test::row_nests()) check_sizes(nest);
}

TEST_CASE("each injected fault shows in every nest that has its construct") {
  for (const test::NamedNest& nest : test::all_nests()) check_mutants(nest);
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// out[offset(i)] = x[i] over a merged axis, with stores that bypass the caches.
std::string streamed_program(Dim offset) {
  NestCase c;
  const int x = c.input(DType::F32, 100), out = c.output(DType::F32, 200);
  const Dim size = c.size(100);
  c.phase(size, true, test::block(Store{out, offset, c.load(x, test::i(0)), {}}));
  c.nest.streaming = true;
  return print(vectorize(c.nest, kTargets[0]));
}

TEST_CASE("whole vectors bypass the caches from the first aligned element on, and a fence follows") {
  for (const Dim offset : {test::i(0), test::i(0) + 1}) {
    const std::string text = streamed_program(offset);
    CHECK(count_of(text, "to_aligned i64") == 1);
    CHECK(count_of(text, "store f32x32") == 1);
    CHECK(count_of(text, "store f32x8") == 1);
    CHECK(count_of(text, " #1\n      loop_end") == 1);
    CHECK(count_of(text, "fence") == 1);
  }
  CHECK(count_of(streamed_program(test::i(0) * 2), "fence") == 0);
}

/// y[r, k] = x[r, k] - max of row r, or x[r, k] alone, for rows of `columns`.
NestCase centred_rows(i64 rows, i64 columns, bool two_passes) {
  NestCase c;
  const int x = c.input(DType::F32, rows * columns), out = c.output(DType::F32, rows * columns);
  const Dim height = c.size(rows), width = c.size(columns);
  const Scalar left = Scalar::input(DType::F32, 0), right = Scalar::input(DType::F32, 1);
  const Scalar least = Scalar::constant(DType::F32, -1e30);
  const Reduce largest{
      {test::symbol_i(1)}, {width}, 64, {}, {{least}, {c.load(x, test::i(0) * width + test::i(1))}, {max(left, right)}}, {0}};
  const Scalar value = c.load(x, test::i(0) * width + test::i(2));
  const Scalar shifted = two_passes ? value - Scalar::local(DType::F32, 0) : value;
  const Loop store{test::symbol_i(2), width, LoopKind::Vector, test::block(Store{out, test::i(0) * width + test::i(2), shifted, {}})};
  c.phase(height, false, two_passes ? test::block(largest, store) : test::block(store));
  return c;
}

TEST_CASE("a later pass over a row asks for the next row; the only pass does not") {
  CHECK(count_of(print(vectorize(centred_rows(3, 100, true).nest, kTargets[0])), "prefetch f32") == 1);
  CHECK(count_of(print(vectorize(centred_rows(3, 100, false).nest, kTargets[0])), "prefetch") == 0);
}

TEST_CASE("rows bypass the caches where they start aligned, and hold the same elsewhere") {
  for (const i64 columns : {64, 80, 100, 7}) {
    for (const VectorTarget& target : kTargets) {
      NestCase c = centred_rows(5, columns, true);
      const Outcome plain = c.run(target);
      c.nest.streaming = true;
      CHECK(has_streamed_store(c.nest));
      CHECK(count_of(print(vectorize(c.nest, target)), "fence") == 1);
      const Outcome streamed = c.run(target);
      const bool same = same_outcome(plain, streamed) && same_outcome(plain, c.interpret());
      CHECK_MESSAGE(same, columns, " columns ", streamed.refused);
    }
  }
}

TEST_CASE("a check is tested in vectors and reported in a block of its own") {
  for (const test::NamedNest& named : test::pointwise_nests()) {
    if (named.name != "gathered") continue;
    const std::string text = print(vectorize(named.build(100, true).nest, kTargets[0]));
    CHECK(count_of(text, "report i64x16") == 1);
    CHECK(count_of(text, "report i64x4") == 1);
    CHECK(count_of(text, "any_false") == 2);
    return;
  }
  FAIL("no nest has a check");
}

TEST_CASE("heavy bodies run fewer vectors at once in 16 registers, and no body fewer than 8 lanes") {
  const auto lanes_of = [](const NestCase& c, const VectorTarget& target) {
    int lanes = 0;
    const Program program = vectorize(c.nest, target);
    for (const Instruction& i : program.phases[0].code) lanes = std::max(lanes, static_cast<int>(i.lanes));
    return lanes;
  };
  const auto body = [](int operations, DType dtype) {
    NestCase c;
    const int x = c.input(dtype, 100), out = c.output(dtype, 100);
    Scalar value = c.load(x, test::i(0));
    for (int k = 0; k < operations; ++k) value = value + constant_like(value, 3.0 + k);
    c.phase(c.size(100), true, test::block(Store{out, test::i(0), value, {}}));
    return c;
  };
  CHECK(lanes_of(body(3, DType::F32), kTargets[0]) == 32);
  CHECK(lanes_of(body(60, DType::F32), kTargets[0]) == 16);
  CHECK(lanes_of(body(60, DType::F32), kTargets[1]) == 64);
  CHECK(lanes_of(body(60, DType::F64), kTargets[0]) == 8);
  CHECK(lanes_of(body(3, DType::U8), kTargets[1]) == 64);
}

}  // namespace
}  // namespace resilin::loop
