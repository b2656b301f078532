// tests/ir/op_test.cpp -- OpDef as a literal type.
#include "resilin/ir/op.h"

#include <doctest/doctest.h>

#include "tests/ir/test_ops.h"

namespace resilin::ir {
namespace {

consteval Pointwise pointwise(loop::Scalar (*formula)(PointwiseContext&)) { return Pointwise{formula}; }

static constexpr OpDef kByLambda{
    .name = "add",
    .doc = "Sum.",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .promote = Promotion::Arithmetic,
    .dtypes = kFloats | kInts,
    .infer = infer_pointwise,
    .lower = Pointwise{[](PointwiseContext& c) { return c.input(0) + c.input(1); }},
};
static constexpr OpDef kByConsteval{
    .name = "id", .inputs = {{"x", "[...]"}}, .lower = pointwise([](PointwiseContext& c) { return c.input(0); })};
static constexpr OpDef kContract{
    .name = "matmul", .inputs = {{"a", "[..., m, k]"}, {"b", "[..., k, n]"}}, .lower = Contract{"...mk,...kn->...mn"}};
static constexpr OpDef kView{
    .name = "shift",
    .inputs = {{"x", "[n]"}},
    .attrs = &kAttrsInfo<ExpandAttrs>,
    .lower = View{[](ViewContext& c) { return ViewMap{.source = {c.index()[0] + Dim(1)}}; }},
};

static_assert(kByLambda.inputs.size() == 2 && kByLambda.inputs[1].name == "b");
static_assert(std::holds_alternative<Pointwise>(kByConsteval.lower));
static_assert(std::get<Contract>(kContract.lower).labels == "...mk,...kn->...mn");
static_assert(kView.attrs == &kAttrsInfo<ExpandAttrs>);
static_assert((kByLambda.dtypes & bit(DType::F32)) != 0 && (kByLambda.dtypes & bit(DType::Bool)) == 0);

constexpr const OpDef* kTable[] = {&kByLambda, &kByConsteval, &kContract, &kView};

TEST_CASE("an op is a constant that names its formula") {
  CHECK(kTable[2]->name == "matmul");
  CHECK(kTable[3]->attrs->type->name() == typeid(ExpandAttrs).name());
}

TEST_CASE("an op takes all its inputs, or any number in place of a list") {
  CHECK(accepts_operand_count(kAdd, 2));
  CHECK_FALSE(accepts_operand_count(kAdd, 1));
  CHECK_FALSE(accepts_operand_count(kAdd, 3));
  CHECK(accepts_operand_count(kClamp, 3));
  CHECK_FALSE(accepts_operand_count(kClamp, 1));
  CHECK(accepts_operand_count(kStackRows, 1));
  CHECK(accepts_operand_count(kStackRows, 100));
  CHECK_FALSE(accepts_operand_count(kStackRows, 0));
}

}  // namespace
}  // namespace resilin::ir
