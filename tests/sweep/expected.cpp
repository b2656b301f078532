// tests/sweep/expected.cpp -- promotes, infers and runs the reference, all beside the engine's interpreters.
#include "tests/sweep/expected.h"

#include <cmath>

#include "resilin/dispatch/promote.h"
#include "resilin/ir/infer.h"

namespace resilin::sweep {
namespace {

std::optional<DType> promotion_of(const Call& call) {
  std::vector<PromotionInput> seen;
  for (const CallInput& input : call.inputs) {
    PromotionInput one;
    if (input.array) one = {.is_present = true, .dtype = input.array->dtype, .ndim = static_cast<i64>(input.array->shape.size())};
    if (input.number) one = {.is_present = true, .is_number = true, .kind = input.number->kind()};
    seen.push_back(one);
  }
  return promoted_dtype(*call.op, seen);
}

ir::Array array_of(const Number& number) {
  ir::Array out = ir::Array::zeros(ir::dtype_of(number.kind()), {});
  if (out.is_real()) {
    out.set(0, number.as_double());
  } else {
    out.set_integer(0, number.as_integer());
  }
  return out;
}

std::vector<std::optional<ir::Array>> promoted_inputs(const Call& call) {
  const std::optional<DType> dtype = promotion_of(call);
  std::vector<std::optional<ir::Array>> out;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const CallInput& input = call.inputs[i];
    if (input.number) {
      out.emplace_back(array_of(*input.number));
    } else if (!input.array) {
      out.emplace_back();
    } else {
      const bool takes_part = dtype && call.op->inputs[std::min(i, call.op->inputs.size() - 1)].promoted;
      out.emplace_back(takes_part ? test::cast_array(*input.array, *dtype) : *input.array);
    }
  }
  return out;
}

std::vector<ir::Type> inferred_types(const Call& call, const std::vector<std::optional<ir::Array>>& inputs) {
  std::vector<ir::InputType> types;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (call.inputs[i].number) {
      types.emplace_back(call.inputs[i].number->kind());
    } else if (inputs[i]) {
      types.emplace_back(ir::Type{inputs[i]->dtype, test::shape_of(inputs[i]->shape), {}});
    } else {
      types.emplace_back(std::monostate{});
    }
  }
  Facts facts;
  ir::InferContext context(call.op->name, types, call.attrs.ref(), facts);
  context.allot_symbol = [](std::string_view, Dim, Dim) { return Dim::symbol('s', 0); };
  return call.op->infer(context);
}

// A size that only the elements decide is 0 here; the reference makes an array of the right one.
ir::Array zeros_of(const ir::Type& type) {
  std::vector<i64> shape;
  for (const Dim d : type.shape) shape.push_back(d.is_constant() ? d.value() : 0);
  return ir::Array::zeros(type.dtype, shape);
}

std::vector<ir::Array> run_reference(const Call& call, std::vector<std::optional<ir::Array>> inputs, const std::vector<ir::Array>& zeros) {
  ir::ReferenceCall reference{std::move(inputs), call.attrs.ref(), zeros};
  call.op->reference(reference);
  return std::move(reference.outputs);
}

template <class Body>
bool throws_error(Expected& expected, const Body& body) {
  try {
    body();
    return false;
  } catch (const Error& error) {
    expected.error = &typeid(error);
    expected.message = error.what();
    return true;
  }
}

}  // namespace

Expected expect(const Call& call) {
  Expected expected;
  std::vector<ir::Array> zeros;
  expected.is_refused = throws_error(expected, [&] {
    expected.inputs = promoted_inputs(call);
    for (const ir::Type& type : inferred_types(call, expected.inputs)) zeros.push_back(zeros_of(type));
  });
  if (expected.is_refused) return expected;
  if (call.has_bad_index) {  // a reference may not be asked for elements that do not exist
    expected.error = &typeid(IndexError);
    return expected;
  }
  throws_error(expected, [&] { expected.outputs = run_reference(call, expected.inputs, zeros); });
  return expected;
}

std::vector<ir::Array> perturbed_outputs(const Call& call, const Expected& expected, std::span<const int> directions, int bits) {
  std::vector<std::optional<ir::Array>> inputs = expected.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || !inputs[i]->is_real()) continue;
    const double factor = 1 + directions[i % directions.size()] * std::ldexp(1.0, -bits);
    for (double& x : inputs[i]->reals) x *= factor;
  }
  std::vector<ir::Array> zeros;
  for (const ir::Array& output : expected.outputs) zeros.push_back(ir::Array::zeros(output.dtype, output.shape));
  return run_reference(call, std::move(inputs), zeros);
}

}  // namespace resilin::sweep
