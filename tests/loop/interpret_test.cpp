// tests/loop/interpret_test.cpp -- nests written by hand, run one element at a time.
#include "resilin/loop/interpret.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <doctest/doctest.h>

namespace resilin::loop {
namespace {

using Role = Buffer::Role;

Dim i(int k) { return Dim::symbol('i', k); }
Dim s(int k) { return Dim::symbol('s', k); }
Symbol variable(int k) { return {'i', k}; }
Scalar load(int buffer, Dim offset) { return Scalar::load(DType::F32, buffer, offset); }
Scalar local(int index) { return Scalar::local(DType::F32, index); }
Scalar number(double v) { return Scalar::constant(DType::F32, v); }
Scalar input(int k) { return Scalar::input(DType::F32, k); }
Combiner sum_of(Scalar element) { return {{number(0)}, {std::move(element)}, {input(0) + input(1)}}; }
constexpr double kInf = std::numeric_limits<double>::infinity();

Nest nest_of(std::vector<Buffer> buffers, int integers, Dim extent, Block body, bool vector = false) {
  Nest nest;
  nest.buffers = std::move(buffers);
  nest.integer_count = integers;
  nest.phases.push_back({variable(0), extent, vector, std::move(body), 1});
  return nest;
}

std::optional<Failure> run(const Nest& nest, std::vector<void*> pointers, std::vector<i64> integers, std::vector<TableEntry> table = {}) {
  verify(nest);
  return interpret(nest, {std::move(pointers), std::move(integers), {}, std::move(table)});
}

const Buffer kInput{"", DType::F32, Role::Input, 0};
const Buffer kOutput{"", DType::F32, Role::Output, 0};

std::vector<float> ramp(int count) {
  std::vector<float> out;
  for (int k = 0; k < count; ++k) out.push_back(static_cast<float>(k * 37 % 101) * 0.1F - 3.0F);
  return out;
}

TEST_CASE("a pointwise nest adds two vectors, with an argument") {
  Nest nest = nest_of({kInput, kInput, kOutput}, 1, s(0),
                      {{Store{2, i(0), load(0, i(0)) + Scalar::argument(DType::F32, 0) * load(1, i(0)), {}}}}, true);
  nest.argument_dtypes = {DType::F32};
  verify(nest);
  std::vector<float> a = {1, 2, 3}, b = {10, 20, 30}, c(4, -1);
  const Arguments arguments{{a.data(), b.data(), c.data()}, {3}, {std::bit_cast<std::uint32_t>(2.0F)}, {}};
  CHECK_FALSE(interpret(nest, arguments));
  CHECK(c == std::vector<float>{21, 42, 63, -1});
}

TEST_CASE("a row softmax keeps the row in a private buffer") {
  const Dim at = i(0) * s(1) + i(1);
  Block body;
  body.push_back({Reduce{{variable(1)}, {s(1)}, 64, {}, {{number(-kInf)}, {load(0, at)}, {max(input(0), input(1))}}, {0}}});
  Reduce total{{variable(1)},
               {s(1)},
               64,
               {{Let{1, load(0, at) - local(0), {}}}, {Store{2, i(1), local(1) * local(1), {}}}},
               sum_of(local(1) * local(1)),
               {2}};
  body.push_back({total});
  body.push_back({Loop{variable(1), s(1), LoopKind::Vector, {{Store{1, at, load(2, i(1)) / local(2), {}}}}}});
  const Nest nest = nest_of({kInput, kOutput, {"", DType::F32, Role::Row, s(1)}}, 2, s(0), body);
  std::vector<float> x = {1, 2, 4, 5, 5, 6}, y(6);
  CHECK_FALSE(run(nest, {x.data(), y.data(), nullptr}, {2, 3}));
  const std::vector<float> expected = {9.0F / 13, 4.0F / 13, 0, 0.5F, 0.5F, 0};
  CHECK(y == expected);
}

// The documented order, restated.
float lane_sum(const std::vector<float>& x, std::size_t lanes) {
  std::vector<float> lane(lanes, 0.0F);
  for (std::size_t k = 0; k < x.size(); ++k) lane[k % lanes] += x[k];
  for (std::size_t half = lanes / 2; half >= 1; half /= 2) {
    for (std::size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
  }
  return lane[0];
}

TEST_CASE("a reduction follows lanes and halving tree for every length") {
  const Nest nest =
      nest_of({kInput, kOutput}, 1, 1, {{Reduce{{variable(1)}, {s(0)}, 64, {}, sum_of(load(0, i(1))), {0}}}, {Store{1, 0, local(0), {}}}});
  for (const int length : {0, 1, 5, 63, 64, 65, 127, 200}) {
    std::vector<float> x = ramp(length);
    float got = -1;
    CHECK_FALSE(run(nest, {x.data(), &got}, {length}));
    CHECK(got == lane_sum(x, 64));
  }
}

TEST_CASE("column sums use four lanes inside a vector loop") {
  const int rows = 11, columns = 3;
  const Nest nest =
      nest_of({kInput, kOutput}, 2, s(1),
              {{Reduce{{variable(1)}, {s(0)}, 4, {}, sum_of(load(0, i(1) * s(1) + i(0))), {0}}}, {Store{1, i(0), local(0), {}}}}, true);
  std::vector<float> x = ramp(rows * columns), y(columns);
  CHECK_FALSE(run(nest, {x.data(), y.data()}, {rows, columns}));
  for (int c = 0; c < columns; ++c) {
    std::vector<float> column;
    for (int r = 0; r < rows; ++r) column.push_back(x[static_cast<std::size_t>(r * columns + c)]);
    CHECK(y[static_cast<std::size_t>(c)] == lane_sum(column, 4));
  }
}

TEST_CASE("a reduction over two axes keeps its lanes on the last one") {
  const Nest nest = nest_of(
      {kInput, kOutput}, 0, 1,
      {{Reduce{{variable(1), variable(2)}, {Dim(3), Dim(5)}, 4, {}, sum_of(load(0, i(1) * 5 + i(2))), {0}}}, {Store{1, 0, local(0), {}}}});
  std::vector<float> x = ramp(15), lane(4, 0.0F);
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 5; ++c) lane[c % 4] += x[r * 5 + c];
  }
  float got = 0;
  CHECK_FALSE(run(nest, {x.data(), &got}, {}));
  CHECK(got == (lane[0] + lane[2]) + (lane[1] + lane[3]));
}

TEST_CASE("argmax reduces a pair and keeps the first of equal values") {
  const Scalar left = input(0), right = input(1 + 1);
  const Scalar left_at = Scalar::input(DType::I64, 1), right_at = Scalar::input(DType::I64, 3);
  const Scalar takes_left = (left > right) | (equal(left, right) & (left_at < right_at));
  const Combiner combiner{{number(-kInf), Scalar::constant(DType::I64, 1000)},
                          {load(0, i(1)), Scalar::integer(i(1))},
                          {select(takes_left, left, right), select(takes_left, left_at, right_at)}};
  const Nest nest = nest_of({kInput, {"", DType::I64, Role::Output, 0}}, 1, 1,
                            {{Reduce{{variable(1)}, {s(0)}, 64, {}, combiner, {0, 1}}}, {Store{1, 0, Scalar::local(DType::I64, 1), {}}}});
  std::vector<float> x = ramp(150);
  x[70] = x[135] = 99;
  i64 got = -1;
  CHECK_FALSE(run(nest, {x.data(), &got}, {150}));
  CHECK(got == 70);
}

TEST_CASE("a scan goes block by block, Hillis-Steele inside") {
  for (const int lanes : {1, 64}) {
    const Nest nest = nest_of({kInput, kOutput}, 1, 1,
                              {{Scan{variable(1), s(0), lanes, {}, sum_of(load(0, i(1))), {0}, {{Store{1, i(1), local(0), {}}}}}}});
    for (const int length : {0, 1, 64, 65, 150}) {
      const std::size_t width = static_cast<std::size_t>(lanes);
      std::vector<float> x = ramp(length), y(x.size()), expected = x;
      for (std::size_t begin = 0; begin < x.size(); begin += width) {
        const std::size_t end = std::min(begin + width, x.size());
        for (std::size_t d = 1; d < width; d *= 2) {
          for (std::size_t k = end; k-- > begin + d;) expected[k] = expected[k - d] + expected[k];
        }
        for (std::size_t k = begin; begin > 0 && k < end; ++k) expected[k] = expected[begin - 1] + expected[k];
      }
      CHECK_FALSE(run(nest, {x.data(), y.data()}, {length}));
      CHECK(y == expected);
    }
  }
}

TEST_CASE("a padded load touches no memory where it is not valid") {
  const Scalar at = Scalar::integer(i(0));
  const Scalar valid = (at >= Scalar::constant(DType::I64, 2)) & (at < Scalar::constant(DType::I64, 5));
  // Far outside any allocation when not valid.
  const Dim far = (i(0) - 2) + floordiv(i(0), 5) * (i64{1} << 45) - floordiv(4 - i(0), 3) * (i64{1} << 45);
  const Nest nest = nest_of({kInput, kOutput}, 0, 8, {{Store{1, i(0), select(valid, load(0, far), number(-7)), {}}}}, true);
  std::vector<float> x = {1, 2, 3}, y(8);
  CHECK_FALSE(run(nest, {x.data(), y.data()}, {}));
  CHECK(y == std::vector<float>{-7, -7, 1, 2, 3, -7, -7, -7});
}

TEST_CASE("a masked store writes and reads nothing") {
  const Scalar even = equal(mod_int(Scalar::integer(i(0)), Scalar::constant(DType::I64, 2)), Scalar::constant(DType::I64, 0));
  const Dim far = i(0) + mod(i(0), 2) * (i64{1} << 45);
  const Nest nest = nest_of({kInput, kOutput}, 0, 5, {{Store{1, far, load(0, far), even}}}, true);
  std::vector<float> x = {1, 2, 3, 4, 5}, y(5, 0);
  CHECK_FALSE(run(nest, {x.data(), y.data()}, {}));
  CHECK(y == std::vector<float>{1, 0, 3, 0, 5});
}

TEST_CASE("cat is a loop over a table") {
  // Entries of rows with t0 columns each, written at column t1 of rows of s1 columns.
  const Dim columns = Dim::symbol('t', 0), start = Dim::symbol('t', 1);
  Block copy{{Store{1, i(0) * s(1) + start + i(2), load(0, i(0) * columns + i(2)), {}}}};
  Block body{{TableLoop{variable(1), {Symbol{'t', 0}, Symbol{'t', 1}}, {{Loop{variable(2), columns, LoopKind::Vector, copy}}}}}};
  const Nest nest = nest_of({{"", DType::F32, Role::Entry, 0}, kOutput}, 2, s(0), body);
  std::vector<float> a = {1, 2, 3, 4}, b = {5, 6}, y(6);
  CHECK_FALSE(run(nest, {nullptr, y.data()}, {2, 3}, {{{a.data()}, {2, 0}}, {{b.data()}, {1, 2}}}));
  CHECK(y == std::vector<float>{1, 2, 5, 3, 4, 6});
}

TEST_CASE("a gather checks its indices and reports the smallest element") {
  const Scalar index = Scalar::load(DType::I64, 0, i(0));
  const Scalar ok =
      (Scalar::local(DType::I64, 0) >= Scalar::constant(DType::I64, 0)) & (Scalar::local(DType::I64, 0) < Scalar::integer(s(0)));
  const Scalar at = Scalar::local(DType::I64, 0);
  Block body;
  body.push_back({Let{0, index, Symbol{'t', 0}}});
  body.push_back({Check{ok, 1, 1, 9 - i(0), at}});
  body.push_back({Store{2, i(0), select(ok, load(1, Dim::symbol('t', 0)), number(0)), {}}});
  const Nest nest = nest_of({{"", DType::I64, Role::Input, 0}, kInput, kOutput}, 1, 4, body, true);
  std::vector<i64> indices = {2, 0, 1, 2};
  std::vector<float> x = {10, 20, 30}, y(4);
  CHECK_FALSE(run(nest, {indices.data(), x.data(), y.data()}, {3}));
  CHECK(y == std::vector<float>{30, 10, 20, 30});
  indices = {2, 7, -1, 0};
  const std::optional<Failure> failure = run(nest, {indices.data(), x.data(), y.data()}, {3});
  REQUIRE(failure);
  CHECK(failure->element == 7);
  CHECK(failure->value == -1);
  CHECK(failure->code == 1);
  CHECK(failure->operand == 1);
}

TEST_CASE("phases share partial buffers") {
  Nest nest = nest_of({kInput, {"", DType::F64, Role::Partial, s(0)}, {"", DType::F64, Role::Output, 0}}, 1, s(0),
                      {{Store{1, i(0), cast(load(0, i(0)), DType::F64) * 2.0, {}}}});
  const Scalar left = Scalar::input(DType::F64, 0), right = Scalar::input(DType::F64, 1);
  const Combiner combiner{{Scalar::constant(DType::F64, 0)}, {Scalar::load(DType::F64, 1, i(1))}, {left + right}};
  nest.phases.push_back(
      {variable(0), 1, false, {{Reduce{{variable(1)}, {s(0)}, 1, {}, combiner, {0}}}, {Store{2, 0, Scalar::local(DType::F64, 0), {}}}}, 1});
  std::vector<float> x = {1, 2, 3.5};
  double got = 0;
  CHECK_FALSE(run(nest, {x.data(), nullptr, &got}, {3}));
  CHECK(got == 13);
}

TEST_CASE("elements of every width are read and written in their form") {
  const DType types[] = {DType::Bool, DType::U8, DType::I8, DType::I16, DType::I32, DType::BF16, DType::F64};
  for (const DType t : types) {
    const Nest nest =
        nest_of({{"", t, Role::Input, 0}, {"", t, Role::Output, 0}, {"", DType::I64, Role::Output, 0}}, 0, 2,
                {{Store{1, i(0), Scalar::load(t, 0, i(0)), {}}}, {Store{2, i(0), cast(Scalar::load(t, 0, i(0)), DType::I64), {}}}});
    std::vector<std::uint8_t> x(16, 0), y(16, 0);
    const std::uint64_t bits = Scalar::constant(t, t == DType::Bool || t == DType::U8 ? 1 : -2).bits();
    std::memcpy(x.data() + size_bytes(t), &bits, static_cast<std::size_t>(size_bytes(t)));
    i64 wide[2] = {9, 9};
    CHECK_FALSE(run(nest, {x.data(), y.data(), wide}, {}));
    CHECK(y == x);
    CHECK(wide[0] == 0);
    CHECK(wide[1] == (t == DType::Bool || t == DType::U8 ? 1 : -2));
  }
}

TEST_CASE("shared expressions are evaluated once per statement") {
  Scalar a = load(0, i(0));
  for (int k = 0; k < 100; ++k) a = select(a > number(1), a - a, a + a);
  const Nest nest = nest_of({kInput, kOutput}, 0, 1, {{Store{1, i(0), a, {}}}});
  float x = 0, y = 1;
  CHECK_FALSE(run(nest, {&x, &y}, {}));
  CHECK(y == 0);
}

}  // namespace
}  // namespace resilin::loop
