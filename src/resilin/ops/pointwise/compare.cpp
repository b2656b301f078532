// src/resilin/ops/pointwise/compare.cpp -- comparisons and logical negation.
#include "resilin/ops/pointwise/compare.h"

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

constexpr OpDef logical_not_op{
    .name = "logical_not",
    .doc = "True where x is 0 or false.",
    .inputs = {{"x", "[...]"}},
    .dtypes = ir::kArithmeticDTypes,
    .infer = ir::infer_compare,
    .lower = ir::Pointwise{[](PointwiseContext& c) {
      const Scalar x = c.input(0);
      return x.dtype() == DType::Bool ? !x : loop::equal(x, loop::constant_like(x, 0));
    }},
    .reference =
        [](ir::ReferenceCall& call) {
          const ir::Array& x = call.input(0);
          for (i64 i = 0; i < x.numel(); ++i) call.output().set_integer(i, x.is_real() ? x.real(i) == 0 : x.integer(i) == 0);
        },
    .samples = samples_truth,
};

constexpr const OpDef* kTable[] = {&eq_op, &ne_op, &lt_op, &le_op, &gt_op, &ge_op, &logical_not_op};

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

}  // namespace resilin
