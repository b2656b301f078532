// tests/sweep/gradient_test.cpp -- the vjp of every op, its own or derived, against finite differences, and the dtypes and shapes of its results.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/autograd/gradcheck.h"
#include "resilin/autograd/history.h"
#include "resilin/autograd/vjp.h"
#include "resilin/dispatch/trace.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/reduce/reduce.h"

#include "tests/sweep/sample_call.h"

using namespace resilin;

namespace {

constexpr i64 kLargestSize = 5;    // sizes of samples are cut to it
constexpr i64 kMostElements = 24;  // of one input that are moved
constexpr double kStep = 1e-5;

// assign needs a destination; tests/autograd has its gradient.
bool is_differentiable(const ir::OpDef& op) { return op.vjp != nullptr || tape::is_vjp_derived(op); }
bool is_accepted(const ir::OpDef& op, DType dtype) { return (op.dtypes & ir::bit(dtype)) != 0; }

std::optional<sweep::Call> small_call(const ir::OpDef& op, int sample, DType dtype) {
  sweep::Case c;
  c.op = &op;
  c.samples = std::make_shared<const std::vector<ir::Sample>>(op.samples());
  c.sample_index = sample;
  c.dtype = dtype;
  for (const i64 size : c.sample().sizes) c.sizes.push_back(std::min(size, kLargestSize));
  c.layouts.assign(c.sample().inputs.size(), test::LayoutKind::RowMajor);
  c.seed = 7;
  return sweep::make_call(c);
}

Outputs run(const sweep::Call& call) { return apply(*call.op, call.arguments(), call.attrs.ref()); }

// A fixed weight for element i of an output.
double weight(i64 i) { return 0.25 + static_cast<double>(i * 7 % 11) / 8; }

Tensor weights_like(const Tensor& y) {
  ir::Array w = ir::Array::zeros(y.dtype(), test::sizes_of(y.shape()));
  for (i64 i = 0; i < w.numel(); ++i) w.set(i, weight(i));
  return test::to_tensor(w);
}

double loss(const sweep::Call& call) {
  double total = 0;
  for (const Tensor& y : run(call)) {
    if (!is_floating(y.dtype())) continue;
    const ir::Array values = test::to_array(y);
    for (i64 i = 0; i < values.numel(); ++i) total += weight(i) * values.real(i);
  }
  return total;
}

std::vector<Tensor> gradients(const sweep::Call& call) {
  const Outputs outputs = run(call);
  std::vector<Tensor> inputs;
  std::vector<Number> numbers;
  std::vector<Tensor> grads;
  for (const sweep::CallInput& input : call.inputs) {
    inputs.push_back(input.tensor);
    numbers.push_back(input.number.value_or(Number()));
  }
  for (const Tensor& y : outputs) grads.push_back(is_floating(y.dtype()) ? weights_like(y) : Tensor());
  const std::vector<Tensor> made(outputs.begin(), outputs.end());
  return tape::run_vjp(*call.op, {.inputs = inputs, .outputs = made, .grads = grads, .attrs = call.attrs.ref(), .numbers = numbers});
}

bool makes_floats(const sweep::Call& call) {
  const Outputs outputs = run(call);
  return std::any_of(outputs.begin(), outputs.end(), [](const Tensor& y) { return is_floating(y.dtype()); });
}

// The slope of the loss as element i of the input moves.
double slope(const sweep::Call& call, const Tensor& x, i64 i) {
  double* const element = x.data_as<double>() + i;
  const double before = *element;
  *element = before + kStep;
  const double above = loss(call);
  *element = before - kStep;
  const double below = loss(call);
  *element = before;
  return (above - below) / (2 * kStep);
}

// Quotients of the samples lie on the steps, where differences grow without bound; their gradient is 0 between them.
bool lies_on_steps(const sweep::Call& call) { return call.op->name == "floor_divide" || call.op->name == "trunc_divide"; }

void check_against_differences(const sweep::Call& call) {
  if (lies_on_steps(call)) return;
  const std::vector<Tensor> grads = gradients(call);
  REQUIRE(grads.size() == call.inputs.size());
  for (std::size_t input = 0; input < grads.size(); ++input) {
    const Tensor& x = call.inputs[input].tensor;
    if (!x.defined() || x.dtype() != DType::F64) continue;
    REQUIRE_MESSAGE(grads[input].defined(), "input ", input, " has no gradient");
    const ir::Array grad = test::to_array(grads[input]);
    for (i64 i = 0; i < std::min(grad.numel(), kMostElements); ++i) {
      const double expected = slope(call, x, i);
      CHECK_MESSAGE(std::abs(grad.real(i) - expected) <= 1e-5 * (1 + std::abs(expected)), "input ", input, " element ", i, ": vjp gives ",
                    grad.real(i), ", differences give ", expected);
    }
  }
}

void check_types(const sweep::Call& call) {
  const std::vector<Tensor> grads = gradients(call);
  for (std::size_t input = 0; input < grads.size(); ++input) {
    const Tensor& x = call.inputs[input].tensor;
    if (!grads[input].defined()) continue;
    REQUIRE_MESSAGE(x.defined(), "input ", input, " is a number");
    CHECK_MESSAGE(grads[input].dtype() == x.dtype(), "input ", input);
    CHECK_MESSAGE(grads[input].shape() == x.shape(), "input ", input);
  }
}

// The loss of the call as a function of its f64 inputs, for the engine: a sum over all outputs, so that one backward gives a whole Jacobian.
struct LossOf {
  const sweep::Call& call;
  std::vector<Tensor> inputs() const {
    std::vector<Tensor> leaves;
    for (const sweep::CallInput& input : call.inputs) {
      if (input.tensor.defined() && input.tensor.dtype() == DType::F64) leaves.push_back(requires_grad_(detach(input.tensor)));
    }
    return leaves;
  }
  std::vector<Tensor> operator()(std::span<const Tensor> leaves) const {
    std::vector<Input> arguments = call.arguments();
    std::size_t next = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].is_tensor() && arguments[i].tensor().dtype() == DType::F64) arguments[i] = leaves[next++];
    }
    Tensor total;
    for (const Tensor& y : apply(*call.op, arguments, call.attrs.ref())) {
      if (!is_floating(y.dtype())) continue;
      const Tensor part = sum(y * weights_like(y));
      total = total.defined() ? total + part : part;
    }
    return {total};
  }
};

// Two values for all elements make ties, which have no slope.
bool has_ties(const ir::Sample& sample) {
  return std::any_of(sample.inputs.begin(), sample.inputs.end(),
                     [](const ir::SampleInput& input) { return input.fill == ir::Fill::Boolean && !input.dtype; });
}

// The op and its vjp over the symbolic sizes of the sample: every gradient has the shape of its input for all sizes.
void check_traced(const ir::OpDef& op, const ir::Sample& sample) {
  ir::Graph graph;
  for (std::size_t s = 0; s < sample.sizes.size(); ++s) graph.add_symbol({2, Range::kHighest});
  Tracer tracer(graph, CompositeMode::Expand);
  std::vector<Tensor> tensors;
  std::vector<Number> numbers;
  std::vector<Input> inputs;
  for (const ir::SampleInput& input : sample.inputs) {
    numbers.push_back(input.number.value_or(Number()));
    tensors.push_back(input.number ? Tensor() : tracer.tensor(graph.add_input({input.dtype.value_or(DType::F32), input.shape, {}})));
  }
  while (tensors.size() < op.inputs.size() && op.inputs[tensors.size()].kind == ir::InputKind::Optional) {
    tensors.emplace_back();
    numbers.emplace_back();
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool is_number = i < sample.inputs.size() && sample.inputs[i].number;
    inputs.push_back(is_number ? Input(numbers[i]) : Input(tensors[i]));
  }
  const TraceScope scope(tracer);
  const Outputs outputs = apply(op, inputs, sample.attrs.ref());
  const std::vector<Tensor> made(outputs.begin(), outputs.end());
  if (std::none_of(made.begin(), made.end(), [](const Tensor& y) { return is_floating(y.dtype()); })) return;
  std::vector<Tensor> grads;
  for (const Tensor& y : made) grads.push_back(is_floating(y.dtype()) ? exp(y) : Tensor());  // any value of y's type
  const std::vector<Tensor> results =
      tape::run_vjp(op, {.inputs = tensors, .outputs = made, .grads = grads, .attrs = sample.attrs.ref(), .numbers = numbers});
  std::vector<ir::ValueId> values;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) continue;
    values.push_back(tracer.value(results[i], op.name));
    REQUIRE(results[i].ndim() == tensors[i].ndim());
    for (i64 a = 0; a < results[i].ndim(); ++a) CHECK(graph.facts().proves_equal(results[i].size(a), tensors[i].size(a)));
  }
  graph.set_outputs(values);
  ir::verify(graph);
}

template <class Check>
void for_each_differentiable(DType dtype, const Check& check) {
  for (const ir::OpDef* op : sweep::all_ops()) {
    if (!is_differentiable(*op) || !is_accepted(*op, dtype)) continue;
    for (int sample = 0; sample < static_cast<int>(op->samples().size()); ++sample) {
      if (has_ties(op->samples()[static_cast<std::size_t>(sample)])) continue;
      const std::optional<sweep::Call> call = small_call(*op, sample, dtype);
      if (!call || !makes_floats(*call)) continue;
      INFO(std::string(op->name), " sample ", sample);
      check(*call);
    }
  }
}

}  // namespace

TEST_CASE("the vjp of every op agrees with finite differences") {
  int calls = 0;
  for_each_differentiable(DType::F64, [&](const sweep::Call& call) {
    if (run(call)[0].dtype() != DType::F64) return;  // rounding has no slope
    check_against_differences(call);
    ++calls;
  });
  CHECK(calls > 60);
}

TEST_CASE("the tape's first and second gradients of every op agree with finite differences") {
  int calls = 0;
  for_each_differentiable(DType::F64, [&](const sweep::Call& call) {
    if (run(call)[0].dtype() != DType::F64 || lies_on_steps(call)) return;
    const LossOf loss{call};
    const std::vector<Tensor> inputs = loss.inputs();
    if (inputs.empty()) return;
    CHECK_NOTHROW(gradcheck(loss, inputs));
    CHECK_NOTHROW(gradgradcheck(loss, inputs, {.atol = 1e-4}));
    ++calls;
  });
  CHECK(calls > 60);
}

TEST_CASE("the vjp of every op gives gradients of the dtypes and shapes of its inputs") {
  for (const DType dtype : {DType::F32, DType::BF16}) for_each_differentiable(dtype, check_types);
}

TEST_CASE("the vjp of every op can be traced over symbolic sizes") {
  for (const ir::OpDef* op : sweep::all_ops()) {
    if (!is_differentiable(*op)) continue;
    for (const ir::Sample& sample : op->samples()) {
      INFO(std::string(op->name));
      check_traced(*op, sample);
    }
  }
}
