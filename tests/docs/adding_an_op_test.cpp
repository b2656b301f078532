// tests/docs/adding_an_op_test.cpp -- the op that docs/adding-an-op.md adds: known by name, one kernel for all numbers, right gradients.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/dispatch/execute.h"
#include "resilin/dispatch/trace.h"
#include "resilin/ops/pointwise/huber.h"

#include "tests/support/tensor.h"

using namespace resilin;
using test::make;

namespace {

const ir::OpDef& huber_op() {
  const ir::OpDef* const op = find_op("huber");
  REQUIRE(op != nullptr);
  return *op;
}

EagerRecord record_of(const Tensor& a, const Tensor& b, const HuberAttrs& attrs) {
  const Input inputs[] = {a, b};
  return eager_record(huber_op(), inputs, {&attrs, huber_op().attrs});
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

std::vector<std::string> kernels_of(const ir::Graph& graph, const SizeClass& size_class) {
  std::vector<std::string> texts;
  for (const Step& step : make_plan(expand_composites(graph), size_class).steps) {
    if (const LaunchStep* launch = std::get_if<LaunchStep>(&step.body)) texts.push_back(launch->text);
  }
  return texts;
}

}  // namespace

TEST_CASE("the op of the page computes what its header says") {
  const Tensor a = make<float>({0, 1, 3, -4});
  const Tensor b = make<float>({0, 0.5, 1, -1});
  CHECK(test::values_of(huber(a, b)) == std::vector<double>{0, 0.125, 1.5, 2.5});
  CHECK(test::values_of(huber(a, b, {.delta = 2})) == std::vector<double>{0, 0.125, 2, 4});
  CHECK(test::values_of(huber(a, b, {.delta = 2, .normalized = true})) == std::vector<double>{0, 0.0625, 1, 2});
  CHECK(test::values_of(huber(make<i64>({5, -5}), 3)) == std::vector<double>{1.5, 7.5});
}

TEST_CASE("a number of the op is an argument of its kernel and a switch makes another kernel") {
  const Tensor a = test::random({3, 5}, DType::F32, 1);
  const Tensor b = test::random({5}, DType::F32, 2);
  const EagerRecord record = record_of(a, b, {.delta = 0.5});
  CHECK(record.kernel_texts.size() == 1);
  CHECK(record_of(a, b, {.delta = 2.5}).kernel_texts == record.kernel_texts);
  CHECK(record_of(a, b, {.delta = 0.5, .normalized = true}).kernel_texts != record.kernel_texts);
}

TEST_CASE("the graph of the op's call prints and parses and is planned to the kernels of eager") {
  const EagerRecord record =
      record_of(test::random({3, 5}, DType::BF16, 1), test::random({3, 5}, DType::BF16, 2), {.delta = 0.5, .normalized = true});
  const std::string text = ir::print(record.graph);
  CHECK_MESSAGE(text.find("huber(") != std::string::npos, text);
  const ir::Graph parsed = ir::parse(text, find_op);
  ir::verify(parsed);
  CHECK(ir::print(parsed) == text);
  CHECK(kernels_of(parsed, record.size_class) == record.kernel_texts);
}

TEST_CASE("the op's gradients are the differences of its values") {
  for (const bool normalized : {false, true}) {
    const HuberAttrs attrs{.delta = 0.75, .normalized = normalized};
    const Tensor inputs[] = {test::random({3, 4}, DType::F64, 1), test::random({4}, DType::F64, 2)};
    const Tensor outputs[] = {huber(inputs[0], inputs[1], attrs)};
    const Tensor grads[] = {test::make_from<double>(std::vector<double>(12, 1.0), {3, 4})};
    const std::vector<Tensor> got =
        huber_op().vjp({.inputs = inputs, .outputs = outputs, .grads = grads, .attrs = {&attrs, huber_op().attrs}});
    REQUIRE(got.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(got[i].shape() == inputs[i].shape());
      const std::vector<double> gradient = test::values_of(got[i]);
      for (std::size_t at = 0; at < gradient.size(); ++at) {
        constexpr double kStep = 1e-6;
        double& element = inputs[i].data_as<double>()[at];
        const double before = element;
        element = before + kStep;
        const double above = sum_of(test::values_of(huber(inputs[0], inputs[1], attrs)));
        element = before - kStep;
        const double below = sum_of(test::values_of(huber(inputs[0], inputs[1], attrs)));
        element = before;
        CHECK(gradient[at] == doctest::Approx((above - below) / (2 * kStep)).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("the op refuses a number that its formula cannot take") {
  CHECK_THROWS_WITH_AS(huber(make<float>({1}), 0, {.delta = -1}), "huber: delta is -1; it must be greater than 0", ArgumentError);
  CHECK_THROWS_WITH_AS(huber(make<float>({1, 2}), make<float>({1, 2, 3})),
                       "huber: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0", ShapeError);
}
