// tests/errors/ops_errors_test.cpp -- what every op says to a wrong call: one table of calls, error types and exact texts.
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/dispatch/trace.h"
#include "resilin/resilin.h"
#include "resilin/runtime/executable.h"

#include "tests/support/tensor.h"

using namespace resilin;
using test::make;

namespace {

struct Refusal {
  std::function<void()> call;
  const std::type_info& type;
  std::string text;
};
using Table = std::vector<Refusal>;

void expect(const Table& table) {
  for (const Refusal& row : table) {
    INFO("expected: " << row.text);
    try {
      row.call();
      FAIL_CHECK("nothing was thrown");
    } catch (const Error& e) {
      CHECK_MESSAGE(typeid(e) == row.type, typeid(e).name() << ": " << e.what());
      CHECK(std::string(e.what()) == row.text);
    }
  }
}

// Uninitialised: most calls are refused before an element is read.
Tensor blank(std::initializer_list<Dim> shape, DType dtype = DType::F32) { return Tensor::allocate({shape.begin(), shape.size()}, dtype); }

const Tensor kUndefined;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An op of x traced over one input of symbolic sizes, planned and run on `actual`; s0 is declared to lie in [1, 4].
void run_traced(const std::function<Tensor(const Tensor&)>& op, const Tensor& actual) {
  ir::Graph graph;
  ir::Type type{actual.dtype(), {}, {}};
  for (i64 a = 0; a < actual.ndim(); ++a) type.shape.push_back(graph.add_symbol());
  const ir::ValueId input = graph.add_input(type);
  graph.facts().set_range({'s', 0}, {1, 4});
  Tracer tracer(graph, CompositeMode::Expand);
  {
    const TraceScope scope(tracer);
    graph.set_outputs({tracer.value(op(tracer.tensor(input)), "test")});
  }
  const Executable executable(make_plan(graph, {}));
  const Tensor* const inputs[] = {&actual};
  run_checked(executable, inputs, {}, {});
}

}  // namespace

TEST_CASE("arithmetic refuses shapes, dtypes, divisors and destinations that do not fit") {
  const Tensor whole = blank({3}, DType::I64);
  expect({
      {[] {
         add(blank({2, 3}), blank({2, 4}));
       },
       typeid(ShapeError), "add: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"},
      {[] {
         mul(blank({2}), blank({5, 3}));
       },
       typeid(ShapeError), "mul: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1"},
      {[] { sub(blank({2}, DType::Bool), blank({2}, DType::Bool)); }, typeid(DtypeError),
       "sub: not implemented for dtype bool; it takes u8 i32 i64 f16 bf16 f32 f64"},
      {[] { neg(blank({2}, DType::Bool)); }, typeid(DtypeError),
       "neg: not implemented for dtype bool; it takes u8 i32 i64 f16 bf16 f32 f64"},
      {[] { add(blank({2}, DType::C64), 1); }, typeid(DtypeError),
       "add: not implemented for dtype c64; it takes bool u8 i32 i64 f16 bf16 f32 f64"},
      {[] { add(kUndefined, blank({2})); }, typeid(ArgumentError), "add: input 'a' is an undefined tensor"},
      {[] { exp(kUndefined); }, typeid(ArgumentError), "exp: input 'x' is an undefined tensor"},
      {[] {
         floor_divide(make<i64>({1, 2, 3}), make<i64>({1, 0, 0}));
       },
       typeid(NumericError), "floor_divide: integer division by zero: 'b' holds 0 at element 1; it must not be 0"},
      {[] {
         trunc_divide(make<i64>({1, 2, 3}), 0);
       },
       typeid(NumericError), "trunc_divide: integer division by zero: 'b' holds 0 at element 0; it must not be 0"},
      {[] {
         add_(blank({3}), blank({2, 3}));
       },
       typeid(ShapeError), "add: output with shape [3] doesn't match the broadcast shape [2, 3]"},
      {[] {
         add_(blank({3, 1}), blank({1, 3}));
       },
       typeid(ShapeError), "add: output with shape [3, 1] doesn't match the broadcast shape [3, 3]"},
      {[&] { div_(whole, 2); }, typeid(DtypeError), "div: result type f32 can't be cast to the desired output type i64"},
      {[&] { mul_(whole, 1.5); }, typeid(DtypeError), "mul: result type f32 can't be cast to the desired output type i64"},
      {[] {
         add_(expand(blank({3}), {2, 3}), 1);
       },
       typeid(ArgumentError),
       "add: unsupported operation: more than one element of the written-to tensor refers to a single memory location: shape [2, 3] has "
       "strides [0, 1]; please clone() the tensor before performing the operation"},
      {[] {
         assign(blank({2, 3}), blank({4}));
       },
       typeid(ShapeError), "assign: the value cannot be broadcast to the destination: value is [4], destination is [2, 3]"},
      {[] {
         pow(make<i64>({2, 3}), make<i64>({1, -1}));
       },
       typeid(ArgumentError),
       "pow: integers to negative integer powers are not allowed: 'exponent' holds -1 at element 1; it must be at least 0"},
      {[] { pow(blank({2}, DType::U8), -2); }, typeid(ArgumentError),
       "pow: integers to negative integer powers are not allowed: 'exponent' holds -2 at element 0; it must be at least 0"},
      {[] { pow(blank({2}, DType::Bool), blank({2}, DType::Bool)); }, typeid(DtypeError),
       "pow: not implemented for dtype bool; it takes u8 i32 i64 f16 bf16 f32 f64"},
      {[] { floor(blank({2}, DType::Bool)); }, typeid(DtypeError),
       "floor: not implemented for dtype bool; it takes u8 i32 i64 f16 bf16 f32 f64"},
      {[&] { exp_(whole); }, typeid(DtypeError), "exp: result type f32 can't be cast to the desired output type i64"},
  });
}

TEST_CASE("comparisons and choices refuse what has no common shape or dtype") {
  const Tensor yes = blank({2}, DType::Bool);
  expect({
      {[] { eq(1, 2); }, typeid(ArgumentError), "eq: both inputs are numbers; at least one must be a tensor"},
      {[] { lt(blank({2}), blank({3})); }, typeid(ShapeError),
       "lt: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"},
      {[] { where(blank({2}), 1.0, 0.0); }, typeid(DtypeError),
       "where: expected condition to be a boolean tensor, but got a tensor with dtype f32"},
      {[&] { where(yes, blank({2}), blank({3})); }, typeid(ShapeError),
       "where: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"},
      {[] { where(kUndefined, 1, 2); }, typeid(ArgumentError), "where: input 'condition' is an undefined tensor"},
      {[] {
         maximum(blank({2, 2}), blank({3, 2}));
       },
       typeid(ShapeError), "maximum: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"},
      {[] { minimum(blank({2}), kUndefined); }, typeid(ArgumentError), "minimum: input 'b' is an undefined tensor"},
      {[] { relu(blank({2}, DType::Bool)); }, typeid(DtypeError),
       "relu: not implemented for dtype bool; it takes u8 i32 i64 f16 bf16 f32 f64"},
      {[] { gelu(blank({2}, DType::I64)); }, typeid(DtypeError), "gelu: not implemented for dtype i64; it takes f16 bf16 f32 f64"},
      {[] { silu(blank({2}, DType::I64)); }, typeid(DtypeError), "silu: not implemented for dtype i64; it takes f16 bf16 f32 f64"},
      {[] { clamp(blank({2})); }, typeid(ArgumentError), "clamp: At least one of 'min' or 'max' must not be None"},
      {[] { logical_and(blank({2}), blank({2}, DType::C64)); }, typeid(DtypeError), "logical_and: not implemented for dtype c64"},
      {[] { masked_fill(blank({2}), blank({2}), 1); }, typeid(DtypeError),
       "masked_fill: masked_fill only supports boolean masks, but got mask with dtype f32"},
      {[&] { masked_fill(blank({2}), yes, blank({2})); }, typeid(ShapeError),
       "masked_fill: masked_fill only supports a 0-dimensional value tensor, but got tensor with 1 dimension(s)."},
  });
}

TEST_CASE("reductions, scans, sort and norms refuse axes and dtypes they cannot serve") {
  expect({
      {[] {
         sum(blank({2, 3}), {{2}});
       },
       typeid(IndexError), "sum: Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
      {[] {
         sum(blank({2, 3}), {{0, -2}});
       },
       typeid(ArgumentError), "sum: dim 0 appears multiple times in the list of dims"},
      {[] { mean(blank({2}, DType::I64)); }, typeid(DtypeError), "mean: not implemented for dtype i64; it takes f16 bf16 f32 f64"},
      {[] {
         amax(blank({0, 3}), {{0}});
       },
       typeid(IndexError), "amax: Expected reduction dim 0 to have non-zero size: shape is [0, 3]"},
      {[] {
         argmax(blank({2, 0}), {1});
       },
       typeid(IndexError), "argmax: Expected reduction dim 1 to have non-zero size: shape is [2, 0]"},
      {[] { argmax(blank({2}, DType::Bool)); }, typeid(DtypeError),
       "argmax: not implemented for dtype bool; it takes u8 i32 i64 f16 bf16 f32 f64"},
      {[] {
         softmax(blank({2, 3}), {2});
       },
       typeid(IndexError), "softmax: Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
      {[] { softmax(blank({2}, DType::I64)); }, typeid(DtypeError), "softmax: not implemented for dtype i64; it takes f16 bf16 f32 f64"},
      {[] {
         cumsum(blank({2, 3}), -3);
       },
       typeid(IndexError), "cumsum: Dimension out of range (expected to be in range of [-2, 1], but got -3)"},
      {[] {
         sort(blank({2, 3}), {2});
       },
       typeid(IndexError), "sort: Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
      {[] { sort(kUndefined); }, typeid(ArgumentError), "sort: input 'x' is an undefined tensor"},
      {[] {
         layer_norm(blank({2, 3}), {});
       },
       typeid(ArgumentError),
       "layer_norm: Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
       "normalized_shape = []"},
      {[] {
         layer_norm(blank({2, 3}), {4});
       },
       typeid(ShapeError), "layer_norm: Given normalized_shape=[4], expected input with shape [*, 4], but got input of size [2, 3]"},
      {[] {
         layer_norm(blank({2, 3}), {3}, blank({4}));
       },
       typeid(ShapeError),
       "layer_norm: Expected weight to be of same shape as normalized_shape, but got weight of shape [4] and normalized_shape = [3]"},
      {[] {
         layer_norm(blank({2, 3}), {3}, blank({3}), blank({3, 1}));
       },
       typeid(ShapeError),
       "layer_norm: Expected bias to be of same shape as normalized_shape, but got bias of shape [3, 1] and normalized_shape = [3]"},
      {[] {
         layer_norm(blank({2, 3}), {3}, blank({3}, DType::I64));
       },
       typeid(DtypeError), "layer_norm: weight must be of a floating dtype, but is i64"},
      {[] {
         layer_norm(blank({2, 3}, DType::I64), {3});
       },
       typeid(DtypeError), "layer_norm: not implemented for dtype i64; it takes f16 bf16 f32 f64"},
      {[] { var(blank({2}, DType::I64)); }, typeid(DtypeError), "var: not implemented for dtype i64; it takes f16 bf16 f32 f64"},
      {[] {
         var(blank({2, 3}), {.axes = {2}});
       },
       typeid(IndexError), "var: Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
      {[] {
         norm(blank({0, 3}), kInfinity, {{0}});
       },
       typeid(IndexError), "norm: Expected reduction dim 0 to have non-zero size: shape is [0, 3]"},
      {[] {
         norm(blank({0, 3}), -1);
       },
       typeid(IndexError),
       "norm: cannot compute the -1 norm on an empty tensor because the operation does not have an identity: shape is [0, 3]"},
  });
}

TEST_CASE("views refuse shapes, axes and positions outside the tensor") {
  const Tensor x = blank({2, 3});
  expect({
      {[&] { reshape(x, {4}); }, typeid(ShapeError), "reshape: shape '[4]' is invalid for input of size 6"},
      {[&] {
         reshape(x, {4, -1});
       },
       typeid(ShapeError), "reshape: shape '[4, -1]' is invalid for input of size 6"},
      {[&] {
         reshape(x, {-1, -1});
       },
       typeid(ShapeError), "reshape: shape '[-1, -1]' is invalid for input of size 6"},
      {[&] {
         reshape(x, {-2, 3});
       },
       typeid(ShapeError), "reshape: invalid shape dimension -2: shape is [-2, 3]"},
      {[&] { permute(x, {0}); }, typeid(ShapeError), "permute: number of dims don't match: 1 axes given for a tensor of 2 dims"},
      {[&] {
         permute(x, {0, -2});
       },
       typeid(ArgumentError), "permute: repeated dim in permute: axes are [0, -2]"},
      {[&] {
         permute(x, {0, 2});
       },
       typeid(IndexError), "permute: Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
      {[&] { transpose(x, 0, 2); }, typeid(IndexError),
       "transpose: Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
      {[&] { expand(x, {3}); }, typeid(ShapeError),
       "expand: the number of sizes provided (1) must be greater or equal to the number of dimensions in the tensor (2)"},
      {[&] {
         expand(x, {2, 4});
       },
       typeid(ShapeError), "expand: the expanded size and the existing size at a non-singleton dimension: 3 and 4; they must be equal"},
      {[&] {
         expand(x, {-1, 2, 3});
       },
       typeid(ShapeError), "expand: the expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension 0"},
      {[&] { slice(x, 0, 0, 2, 0); }, typeid(ArgumentError), "slice: step must be positive: step is 0"},
      {[&] { slice(x, 2, 0, 1); }, typeid(IndexError), "slice: Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
      {[&] {
         index(x, {i64{0}, i64{0}, i64{0}});
       },
       typeid(IndexError), "too many indices for tensor of dimension 2: 3 are given"},
      {[&] { index(x, {i64{2}}); }, typeid(IndexError), "index 2 is out of bounds for dimension 0 with size 2"},
      {[&] { flip(x, {-3}); }, typeid(IndexError), "flip: Dimension out of range (expected to be in range of [-2, 1], but got -3)"},
      {[&] { pad(x, {1}); }, typeid(ArgumentError), "pad: padding length must be divisible by 2: it is 1"},
      {[&] {
         pad(x, {1, 1, 1, 1, 1, 1});
       },
       typeid(ArgumentError),
       "pad: padding length should be less than or equal to two times the input dimension: it is 6 for a tensor of 2 dims"},
      {[&] {
         pad(x, {-2, -2});
       },
       typeid(ShapeError), "pad: the padded size is negative: axis 1 has size 3 with -2 before and -2 after"},
      {[&] { select(x, 1, 3); }, typeid(IndexError), "select: index 3 out of range for tensor of size [2, 3] at dimension 1"},
      {[&] { select(x, 2, 0); }, typeid(IndexError), "select: Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
      {[&] { squeeze(x, 2); }, typeid(IndexError), "squeeze: Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
      {[&] { unsqueeze(x, 3); }, typeid(IndexError), "unsqueeze: Dimension out of range (expected to be in range of [-3, 2], but got 3)"},
      {[&] { flatten(x, 1, 0); }, typeid(ArgumentError), "flatten: start_dim cannot come after end_dim: they are 1 and 0"},
      {[] { clone(blank({2}, DType::C64)); }, typeid(DtypeError),
       "clone: not implemented for dtype c64; it takes bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 f8e4m3fn f8e5m2"},
      {[] { tril(blank({2})); }, typeid(ShapeError), "tril: input tensor must have at least 2 dimensions: shape is [2]"},
      {[] { narrow(blank({}), 0, 0, 1); }, typeid(ArgumentError), "narrow: narrow() cannot be applied to a 0-dim tensor."},
      {[&] { narrow(x, 1, 0, -1); }, typeid(ArgumentError), "narrow: narrow(): length must be non-negative: it is -1"},
      {[&] { narrow(x, 1, 2, 2); }, typeid(ArgumentError), "narrow: start (2) + length (2) exceeds dimension size (3)"},
      {[] { split(blank({}), 1); }, typeid(ArgumentError), "split: split expects at least a 1-dimensional tensor"},
      {[&] { split(x, -1); }, typeid(ArgumentError), "split: split expects split_size be non-negative, but got split_size=-1"},
      {[&] { split(x, 0); }, typeid(ArgumentError), "split: split_size can only be 0 if dimension size is 0, but got dimension size of 2"},
      {[&] {
         split(x, {1, 2});
       },
       typeid(ArgumentError),
       "split: split_with_sizes expects split_sizes to sum exactly to 2 (input tensor's size at dimension 0), but got split_sizes=[1, 2]"},
      {[&] {
         split(x, {3, -1});
       },
       typeid(ArgumentError), "split: split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=[3, -1]"},
      {[&] { chunk(x, 0); }, typeid(ArgumentError), "chunk: chunk expects `chunks` to be greater than 0, got: 0"},
  });
}

TEST_CASE("creation refuses negative sizes, endless ranges and dtypes without numbers") {
  expect({
      {[] {
         zeros({2, -1});
       },
       typeid(ShapeError), "full: negative dimension -1: shape is [2, -1]; sizes must be at least 0"},
      {[] { full({2}, 1, DType::C64); }, typeid(DtypeError), "full: not implemented for dtype c64"},
      {[] { arange(0, 3, 0); }, typeid(ArgumentError), "arange: step must be nonzero: start is 0, end is 3"},
      {[] { arange(0.0, 1.0, 0.3, DType::I64); }, typeid(ArgumentError), "arange: step must be nonzero: start is 0, end is 1"},
      {[] { arange(3, 0); }, typeid(ArgumentError),
       "arange: upper bound and larger bound inconsistent with step sign: start is 3, end is 0, step is 1"},
      {[] { arange(0.0, kInfinity); }, typeid(ArgumentError), "arange: unsupported range: 0 -> inf"},
      {[] { arange(0, 3, 1, DType::Bool); }, typeid(DtypeError), "arange: not implemented for dtype bool"},
      {[] { arange(0.0, 1.0, 0x1p-80); }, typeid(ArgumentError),
       "arange: invalid size, possible overflow: 1.2089258196146292e+24 elements"},
      {[] { rand({2}, DType::I64); }, typeid(DtypeError), "rand: not implemented for dtype i64; it makes f16 bf16 f32 f64"},
      {[] { rand({-2}); }, typeid(ShapeError), "rand: negative dimension -2: shape is [-2]; sizes must be at least 0"},
      {[] { rand_at(Shape{2}, 1.5, 0); }, typeid(ArgumentError), "rand: seed and offset must be integers"},
      {[] { empty({-2}); }, typeid(ShapeError), "empty: negative dimension -2: shape is [-2]; sizes must be at least 0"},
      {[] { eye(-2); }, typeid(ShapeError), "eye: negative dimension -2: shape is [-2, -2]; sizes must be at least 0"},
      {[] { randn({2}, DType::I64); }, typeid(DtypeError), "randn: not implemented for dtype i64; it makes f16 bf16 f32 f64"},
      {[] { randint(3, 3, {2}); }, typeid(ArgumentError), "randint: random_ expects 'from' to be less than 'to', but got from=3 >= to=3"},
      {[] { randint(0, 257, {2}, DType::U8); }, typeid(ArgumentError),
       "randint: from or to - 1 is out of bounds for u8: from is 0, to is 257"},
      {[] { randint(std::numeric_limits<i64>::min(), 1, {2}); }, typeid(ArgumentError),
       "randint: the range is too long: from is -9223372036854775808, to is 1; it must have less than 2^63 numbers"},
      {[] { randint(0, 2, {2}, DType::Bool); }, typeid(DtypeError), "randint: not implemented for dtype bool"},
      {[] { uniform_(blank({2}), 1, 0); }, typeid(ArgumentError),
       "uniform_: uniform_ expects to return a [from, to) range, but found from=1 > to=0"},
      {[] { normal_(blank({2}), 0, -1); }, typeid(ArgumentError), "normal_: normal expects std >= 0.0, but found std -1"},
      {[] { bernoulli_(blank({2}), 1.5); }, typeid(ArgumentError), "bernoulli_: bernoulli_ expects p to be in [0, 1], but got p=1.5"},
      {[] { bernoulli_(blank({2}), blank({3})); }, typeid(ShapeError),
       "bernoulli: The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0"},
      {[] { bernoulli(blank({2}, DType::I64)); }, typeid(DtypeError), "bernoulli: p must be of a floating dtype, but is i64"},
  });
}

TEST_CASE("indexing refuses index tensors of another dtype, shape or range") {
  const Tensor x = make<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor two = make<i64>({0, 1});
  expect({
      {[&] {
         gather(x, 2, blank({2, 3}, DType::I64));
       },
       typeid(IndexError), "gather: Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
      {[&] { gather(x, 0, two); }, typeid(ShapeError),
       "gather: Index tensor must have the same number of dimensions as input tensor: index is [2], input is [2, 3]"},
      {[&] {
         gather(x, 0, blank({1, 4}, DType::I64));
       },
       typeid(ShapeError),
       "gather: Size does not match at dimension 1 expected index [1, 4] to be smaller than self [2, 3] apart from dimension 0"},
      {[&] {
         gather(x, 0, blank({2, 3}));
       },
       typeid(DtypeError), "gather: expected dtype i32/i64 for index, but got f32"},
      {[&] {
         gather(x, 1, make<i64>({0, 1, 2, 3}, {2, 2}));
       },
       typeid(IndexError), "gather: index out of range: 'index' holds 3 at element 3; it must be in [0, 3)"},
      {[&] {
         gather(x, 1, make<std::int32_t>({0, -1}, {2, 1}));
       },
       typeid(IndexError), "gather: index out of range: 'index' holds -1 at element 1; it must be in [0, 3)"},
      {[&] {
         index_select(x, 0, blank({1, 2}, DType::I64));
       },
       typeid(IndexError), "index_select: Index is supposed to be a vector: index has 2 axes"},
      {[&] {
         index_select(x, 0, make<i64>({0, 2}));
       },
       typeid(IndexError), "index_select: index out of range: 'index' holds 2 at element 3; it must be in [0, 2)"},
      {[&] {
         index_select(blank({0, 3}), 0, two);
       },
       typeid(IndexError), "index_select: index out of range: 'index' selects from an axis of size 0"},
      {[&] {
         index_add(x, 1, two, blank({2, 3}));
       },
       typeid(ShapeError), "index_add: Number of indices (2) should be equal to source.size(dim): (3), for dim: 1"},
      {[&] {
         index_add(x, 1, two, blank({3, 2}));
       },
       typeid(ShapeError), "index_add: source has another size than self at dimension 0: source is [3, 2], self is [2, 3]"},
      {[&] {
         index_add(x, 1, two, blank({2, 2}, DType::F64));
       },
       typeid(DtypeError), "index_add: dtypes differ: 'x' is f32, input 2 is f64; they must be equal"},
      {[&] {
         index_add(x, 1, make<float>({0, 1}), blank({2, 2}));
       },
       typeid(DtypeError), "index_add: expected dtype i32/i64 for index, but got f32"},
      {[&] { index_add(zeros({2}, DType::I64), 0, two, two, 0.5); }, typeid(ArgumentError),
       "index_add: For integral input tensors, argument alpha must not be a floating point number: dtype is i64"},
      {[&] {
         index_add_(zeros({2}), 0, make<i64>({0, 5}), ones({2}));
       },
       typeid(IndexError), "index_add: index out of range: 'index' holds 5 at element 1; it must be in [0, 2)"},
      {[&] {
         scatter_add(x, 0, blank({3, 3}, DType::I64), blank({2, 3}));
       },
       typeid(ShapeError),
       "scatter_add: Expected index [3, 3] to be smaller than self [2, 3] apart from dimension 0 and to be smaller size than src [2, 3]"},
      {[&] {
         scatter_add(zeros({2}), 0, make<i64>({2, 0}), ones({2}));
       },
       typeid(IndexError), "scatter_add: index out of range: 'index' holds 2 at element 0; it must be in [0, 2)"},
      {[&] { nonzero(blank({2}, DType::C64)); }, typeid(DtypeError),
       "nonzero: not implemented for dtype c64; it takes bool u8 i32 i64 f16 bf16 f32 f64"},
  });
}

TEST_CASE("joining and products refuse sizes that do not fit together") {
  expect({
      {[] { cat({}); }, typeid(ArgumentError), "cat: expected a non-empty list of tensors"},
      {[] {
         cat({blank({2}), kUndefined});
       },
       typeid(ArgumentError), "cat: input 'tensors' is an undefined tensor"},
      {[] {
         cat({blank({}), blank({2})});
       },
       typeid(ShapeError), "cat: zero-dimensional tensor (at position 0) cannot be concatenated"},
      {[] {
         cat({blank({2, 3}), blank({3})});
       },
       typeid(ShapeError), "cat: Tensors must have same number of dimensions: got 2 and 1 for tensor number 1 in the list"},
      {[] {
         cat({blank({2, 3}), blank({2, 4})});
       },
       typeid(ShapeError),
       "cat: Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1 in the list"},
      {[] {
         cat({blank({2, 3}), blank({2, 3})}, 2);
       },
       typeid(IndexError), "cat: Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
      {[] { stack({}); }, typeid(ArgumentError), "stack: expected a non-empty list of tensors"},
      {[] {
         stack({blank({2}), blank({3})});
       },
       typeid(ShapeError), "stack: each tensor is expected to be equal size, but got [2] at entry 0 and [3] at entry 1"},
      {[] { stack({blank({2})}, 2); }, typeid(IndexError),
       "unsqueeze: Dimension out of range (expected to be in range of [-2, 1], but got 2)"},
      {[] {
         matmul(blank({8, 16}), blank({17, 4}));
       },
       typeid(ShapeError), "matmul: inner sizes differ: a is [8, 16], b is [17, 4]; 16 must equal 17"},
      {[] { matmul(blank({3}), blank({4})); }, typeid(ShapeError), "matmul: inner sizes differ: a is [3], b is [4]; 3 must equal 4"},
      {[] {
         matmul(blank({}), blank({4, 2}));
       },
       typeid(ShapeError), "matmul: both arguments to matmul need to be at least 1D, but they are 0D and 2D"},
      {[] {
         matmul(blank({2, 4, 5}), blank({3, 5, 6}));
       },
       typeid(ShapeError), "matmul: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"},
      {[] {
         matmul(blank({2, 2}), blank({2, 2}, DType::F64));
       },
       typeid(DtypeError), "matmul: dtypes differ: 'a' is f32, input 1 is f64; they must be equal"},
      {[] {
         matmul(blank({2, 2}, DType::Bool), blank({2, 2}, DType::Bool));
       },
       typeid(DtypeError), "matmul: not implemented for dtype bool; it takes u8 i32 i64 f16 bf16 f32 f64"},
  });
}

TEST_CASE("products of fixed numbers of axes and einsum refuse what their equations do not say") {
  expect({
      {[] {
         mm(blank({2, 3}), blank({3}));
       },
       typeid(ShapeError), "mm: expected a 2D and a 2D tensor: a is [2, 3], b is [3]"},
      {[] {
         mm(blank({2, 3}), blank({2, 3}));
       },
       typeid(ShapeError), "mm: mat1 and mat2 shapes cannot be multiplied: 3 and 2; they must be equal"},
      {[] {
         bmm(blank({2, 3, 4}), blank({3, 4, 5}));
       },
       typeid(ShapeError), "bmm: numbers of matrices differ: 2 and 3; they must be equal"},
      {[] {
         dot(blank({2, 3}), blank({3}));
       },
       typeid(ShapeError), "dot: 1D tensors expected, but got 2D and 1D tensors"},
      {[] { dot(blank({2}), blank({3})); }, typeid(ShapeError),
       "dot: inconsistent tensor size, expected tensor [2] and src [3] to have the same number of elements"},
      {[] { einsum("", {}); }, typeid(ArgumentError), "einsum: must provide at least one operand"},
      {[] {
         einsum("ij,jk", {blank({2, 3})});
       },
       typeid(ArgumentError), "einsum: fewer operands were provided than specified in the equation: 1 for 'ij,jk'"},
      {[] {
         einsum("i", {blank({2}), blank({2})});
       },
       typeid(ArgumentError), "einsum: more operands were provided than specified in the equation: 2 for 'i'"},
      {[] { einsum("ij", {blank({2})}); }, typeid(ArgumentError),
       "einsum: the number of subscripts in the equation (2) does not match the number of dimensions (1) for operand 0 and no ellipsis was "
       "given"},
      {[] { einsum("ij...", {blank({2})}); }, typeid(ArgumentError),
       "einsum: the number of subscripts in the equation (2) is more than the number of dimensions (1) for operand 0"},
      {[] {
         einsum("i1", {blank({2, 2})});
       },
       typeid(ArgumentError),
       "einsum: invalid subscript given at index 1 in the equation string, subscripts must be in [a-zA-Z]: equation is 'i1'"},
      {[] {
         einsum("i.j", {blank({2, 2})});
       },
       typeid(ArgumentError), "einsum: found '.' that is not part of any ellipsis ('...')"},
      {[] {
         einsum("......", {blank({2, 2})});
       },
       typeid(ArgumentError), "einsum: found '.' for which an ellipsis was already found"},
      {[] {
         einsum("ij->ii", {blank({2, 2})});
       },
       typeid(ArgumentError), "einsum: output subscript i appears more than once in the output"},
      {[] {
         einsum("ij->k", {blank({2, 2})});
       },
       typeid(ArgumentError), "einsum: output subscript k does not appear in the equation for any input operand"},
      {[] {
         einsum("ii", {blank({2, 3})});
       },
       typeid(ShapeError), "einsum: subscript i is repeated for operand 0 but the sizes don't match, 3 != 2"},
      {[] {
         einsum("ij,jk", {blank({2, 3}), blank({4, 5})});
       },
       typeid(ShapeError), "einsum: subscript j has size 4 for operand 1 which does not broadcast with previously seen size 3"},
  });
}

TEST_CASE("a graph refuses sizes outside its declarations, captured data and generators") {
  const Tensor captured = blank({2, 3});
  expect({
      {[] {
         run_traced([](const Tensor& x) { return exp(x); }, blank({5, 3}));
       },
       typeid(ArgumentError), "run: size s0 is 5; it was declared to lie in [1, 4]"},
      {[&] {
         run_traced([&](const Tensor& x) { return add(x, captured); }, blank({2, 3}));
       },
       typeid(UnsupportedError),
       "add: a tensor that holds data is used while tracing: it is f32[2, 3]; make it an input of the traced function"},
      {[] {
         run_traced([](const Tensor&) { return rand({2}); }, blank({2, 3}));
       },
       typeid(UnsupportedError),
       "rand: a generator is read while tracing, so every run would draw the same numbers; use rand_at with seed and offset as arguments"},
      {[] {
         run_traced([](const Tensor& x) { return add(x, zeros({5, 1})); }, blank({2, 3}));
       },
       typeid(ShapeError), "add: The size of tensor a (s0) must match the size of tensor b (5) at non-singleton dimension 0"},
      {[] {
         Tensor leaked;
         run_traced([&](const Tensor& x) { return leaked = exp(x); }, blank({2, 3}));
         exp(leaked);
       },
       typeid(ArgumentError), "exp: a traced tensor is used outside its trace; it holds no data"},
      {[] {
         run_traced([](const Tensor& x) { return uniform_(x); }, blank({2, 3}));
       },
       typeid(UnsupportedError),
       "uniform_: a generator is read while tracing, so every run would draw the same numbers; use rand_at with seed and offset as "
       "arguments"},
  });
}
