// src/resilin/ops/pointwise/compare.cpp -- comparisons, logic, and questions about floats.
#include "resilin/ops/pointwise/compare.h"

#include <cmath>
#include <limits>

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/pointwise/pointwise.h"

namespace resilin {
namespace {

using ir::OpDef;
using ir::PointwiseContext;
using loop::Scalar;

// Everything but name, words and the relation is the same for a comparison.
struct Comparison {
  std::string_view name;
  std::string_view doc;
  Scalar (*formula)(PointwiseContext&);
  ir::Reference reference;
};
consteval OpDef comparison(const Comparison& c) {
  return {
      .name = c.name,
      .doc = c.doc,
      .inputs = {{"a", "[...]"}, {"b", "[...]"}},
      .promote = ir::Promotion::Arithmetic,
      .dtypes = ir::kArithmeticDTypes,
      .infer = ir::infer_compare,
      .lower = ir::Pointwise{c.formula},
      .reference = c.reference,
      .samples = ops::samples_binary,
  };
}

template <class Relation>
void compare_reference(ir::ReferenceCall& call, Relation relation) {
  ops::reference_binary(
      call, [&](double a, double b) { return relation(a, b) ? 1.0 : 0.0; }, [&](i64 a, i64 b) { return i64{relation(a, b)}; });
}

constexpr OpDef eq_op = comparison({
    .name = "eq",
    .doc = "a == b.",
    .formula = [](PointwiseContext& c) { return loop::equal(c.input(0), c.input(1)); },
    .reference = [](ir::ReferenceCall& call) { compare_reference(call, [](auto a, auto b) { return a == b; }); },
});
constexpr OpDef ne_op = comparison({
    .name = "ne",
    .doc = "a != b.",
    .formula = [](PointwiseContext& c) { return loop::not_equal(c.input(0), c.input(1)); },
    .reference = [](ir::ReferenceCall& call) { compare_reference(call, [](auto a, auto b) { return a != b; }); },
});
constexpr OpDef lt_op = comparison({
    .name = "lt",
    .doc = "a < b.",
    .formula = [](PointwiseContext& c) { return c.input(0) < c.input(1); },
    .reference = [](ir::ReferenceCall& call) { compare_reference(call, [](auto a, auto b) { return a < b; }); },
});
constexpr OpDef le_op = comparison({
    .name = "le",
    .doc = "a <= b.",
    .formula = [](PointwiseContext& c) { return c.input(0) <= c.input(1); },
    .reference = [](ir::ReferenceCall& call) { compare_reference(call, [](auto a, auto b) { return a <= b; }); },
});
constexpr OpDef gt_op = comparison({
    .name = "gt",
    .doc = "a > b.",
    .formula = [](PointwiseContext& c) { return c.input(0) > c.input(1); },
    .reference = [](ir::ReferenceCall& call) { compare_reference(call, [](auto a, auto b) { return a > b; }); },
});
constexpr OpDef ge_op = comparison({
    .name = "ge",
    .doc = "a >= b.",
    .formula = [](PointwiseContext& c) { return c.input(0) >= c.input(1); },
    .reference = [](ir::ReferenceCall& call) { compare_reference(call, [](auto a, auto b) { return a >= b; }); },
});

// Zeros and ones in every dtype: with random numbers nothing would be 0.
std::vector<ir::Sample> samples_truth() {
  return {{{{.shape = {Dim::symbol('s', 0), Dim::symbol('s', 1)}, .fill = ir::Fill::Boolean}}, {}, {3, 37}}};
}

// True where x is not 0.
Scalar truth(const Scalar& x) { return x.dtype() == DType::Bool ? x : loop::not_equal(x, loop::constant_like(x, 0)); }
bool truth(const ir::Array& x, i64 at) { return x.is_real() ? x.real(at) != 0 : x.integer(at) != 0; }

constexpr OpDef logical_not_op{
    .name = "logical_not",
    .doc = "True where x is 0 or false.",
    .inputs = {{"x", "[...]"}},
    .dtypes = ir::kArithmeticDTypes,
    .infer = ir::infer_compare,
    .lower = ir::Pointwise{[](PointwiseContext& c) { return !truth(c.input(0)); }},
    .reference =
        [](ir::ReferenceCall& call) {
          for (i64 i = 0; i < call.input(0).numel(); ++i) call.output().set_integer(i, !truth(call.input(0), i));
        },
    .samples = samples_truth,
};

// --- logic of two tensors -----------------------------------------------------------------------------------------------------------
// Each input is asked in its own dtype, so that nothing that is not 0 is rounded to 0.
std::vector<ir::Type> infer_logic(ir::InferContext& c) {
  for (const int input : {0, 1}) {
    if (is_complex(c.dtype(input))) throw DtypeError(cat(c.op(), ": not implemented for dtype ", c.dtype(input)));
  }
  return ir::infer_compare(c);
}

template <class Join>
void logic_reference(ir::ReferenceCall& call, Join join) {
  ir::Array& out = call.output();
  for (i64 i = 0; i < out.numel(); ++i) {
    const std::vector<i64> index = ir::unravel(i, out.shape);
    const auto holds = [&](int input) { return truth(call.input(input), ir::broadcast_position(index, call.input(input).shape)); };
    out.set_integer(i, join(holds(0), holds(1)));
  }
}

std::vector<ir::Sample> samples_logic() {
  const Shape shape{Dim::symbol('s', 0), Dim::symbol('s', 1)};
  const ir::SampleInput full{.shape = shape, .fill = ir::Fill::Boolean};
  const ir::SampleInput mask{.shape = {shape[1]}, .fill = ir::Fill::Boolean, .dtype = DType::Bool};
  return {{{full, full}, {}, {3, 37}}, {{full, mask}, {}, {3, 37}}, {{{.number = Number(true)}, full}, {}, {3, 37}}};
}

consteval OpDef logic(const Comparison& c) {
  OpDef op = comparison(c);
  op.inputs = {{.name = "a", .shape = "[...]", .promoted = false}, {.name = "b", .shape = "[...]", .promoted = false}};
  op.promote = ir::Promotion::None;
  op.dtypes = ir::kAnyDType;
  op.infer = infer_logic;
  op.samples = samples_logic;
  return op;
}

constexpr OpDef logical_and_op = logic({
    .name = "logical_and",
    .doc = "True where both are not 0.",
    .formula = [](PointwiseContext& c) { return truth(c.input(0)) & truth(c.input(1)); },
    .reference = [](ir::ReferenceCall& call) { logic_reference(call, [](bool a, bool b) { return a && b; }); },
});
constexpr OpDef logical_or_op = logic({
    .name = "logical_or",
    .doc = "True where at least one is not 0.",
    .formula = [](PointwiseContext& c) { return truth(c.input(0)) | truth(c.input(1)); },
    .reference = [](ir::ReferenceCall& call) { logic_reference(call, [](bool a, bool b) { return a || b; }); },
});
constexpr OpDef logical_xor_op = logic({
    .name = "logical_xor",
    .doc = "True where exactly one is not 0.",
    .formula = [](PointwiseContext& c) { return truth(c.input(0)) ^ truth(c.input(1)); },
    .reference = [](ir::ReferenceCall& call) { logic_reference(call, [](bool a, bool b) { return a != b; }); },
});

// --- kinds of floats ----------------------------------------------------------------------------------------------------------------
consteval OpDef question(const Comparison& c) {
  OpDef op = comparison(c);
  op.inputs = {{"x", "[...]"}};
  op.samples = ops::samples_unary;
  return op;
}

Scalar infinity_like(const Scalar& x) { return loop::constant_like(x, std::numeric_limits<double>::infinity()); }

template <class Question>
void question_reference(ir::ReferenceCall& call, Question question) {
  const ir::Array& x = call.input(0);
  for (i64 i = 0; i < x.numel(); ++i) call.output().set_integer(i, question(x.real(i)));
}

constexpr OpDef isnan_op = question({
    .name = "isnan",
    .doc = "True where x is no number.",
    .formula = [](PointwiseContext& c) { return loop::not_equal(c.input(0), c.input(0)); },
    .reference = [](ir::ReferenceCall& call) { question_reference(call, [](double x) { return std::isnan(x); }); },
});
constexpr OpDef isinf_op = question({
    .name = "isinf",
    .doc = "True where x is infinite.",
    .formula =
        [](PointwiseContext& c) {
          const Scalar x = c.input(0);
          return is_floating(x.dtype()) ? loop::equal(loop::abs(x), infinity_like(x)) : loop::not_equal(x, x);
        },
    .reference = [](ir::ReferenceCall& call) { question_reference(call, [](double x) { return std::isinf(x); }); },
});
constexpr OpDef isfinite_op = question({
    .name = "isfinite",
    .doc = "True where x is neither infinite nor NaN.",
    .formula =
        [](PointwiseContext& c) {
          const Scalar x = c.input(0);
          return is_floating(x.dtype()) ? loop::abs(x) < infinity_like(x) : loop::equal(x, x);
        },
    .reference = [](ir::ReferenceCall& call) { question_reference(call, [](double x) { return std::isfinite(x); }); },
});

constexpr const OpDef* kTable[] = {&eq_op,          &ne_op,         &lt_op,          &le_op,    &gt_op,    &ge_op,      &logical_not_op,
                                   &logical_and_op, &logical_or_op, &logical_xor_op, &isnan_op, &isinf_op, &isfinite_op};

Tensor compare(const OpDef& op, const Input& a, const Input& b) {
  if (a.is_number() && b.is_number()) throw ArgumentError(cat(op.name, ": both inputs are numbers; at least one must be a tensor"));
  return apply_one(op, {a, b});
}

}  // namespace

constexpr OpTable kCompareOps = kTable;

Tensor eq(Input a, Input b) { return compare(eq_op, a, b); }
Tensor ne(Input a, Input b) { return compare(ne_op, a, b); }
Tensor lt(Input a, Input b) { return compare(lt_op, a, b); }
Tensor le(Input a, Input b) { return compare(le_op, a, b); }
Tensor gt(Input a, Input b) { return compare(gt_op, a, b); }
Tensor ge(Input a, Input b) { return compare(ge_op, a, b); }
Tensor logical_not(const Tensor& x) { return apply_one(logical_not_op, {x}); }
Tensor logical_and(Input a, Input b) { return compare(logical_and_op, a, b); }
Tensor logical_or(Input a, Input b) { return compare(logical_or_op, a, b); }
Tensor logical_xor(Input a, Input b) { return compare(logical_xor_op, a, b); }
Tensor isnan(const Tensor& x) { return apply_one(isnan_op, {x}); }
Tensor isinf(const Tensor& x) { return apply_one(isinf_op, {x}); }
Tensor isfinite(const Tensor& x) { return apply_one(isfinite_op, {x}); }

}  // namespace resilin
