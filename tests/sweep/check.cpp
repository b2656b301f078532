// tests/sweep/check.cpp -- the checks of one case.
#include "tests/sweep/check.h"

#include "resilin/base/config.h"
#include "resilin/base/thread_pool.h"
#include "resilin/codegen/cpu.h"
#include "resilin/dispatch/trace.h"

#include "tests/support/interpret_plan.h"
#include "tests/sweep/tolerance.h"

namespace resilin::sweep {
namespace {

constexpr i64 kInterpretedElements = 20000;
constexpr i64 kInterpretedLongElements = 90000;

Outputs run_eager(const Call& call) { return apply(*call.op, call.arguments(), call.attrs.ref()); }

i64 largest_input(const Call& call) {
  i64 count = 0;
  for (const CallInput& input : call.inputs) {
    if (input.array) count = std::max(count, input.array->numel());
  }
  return count;
}

// The order in which elements are added up follows from the axis that is dense in memory, the result's among others.
bool sums_by_layout(const ir::OpDef& op) {
  return std::holds_alternative<ir::Reduce>(op.lower) || std::holds_alternative<ir::Scan>(op.lower) ||
         std::holds_alternative<ir::Contract>(op.lower) || std::holds_alternative<ir::Composite>(op.lower);
}

std::string missing_part(const ir::OpDef& op) {
  if (op.reference == nullptr) return "has no reference";
  return op.infer == nullptr ? "has no infer" : "";
}

}  // namespace

void Checker::run(const Case& c) {
  report_.begin(c);
  const config::ScopedConfig guard("allocator.guard", c.seed % 2 == 0 ? "end" : "begin");
  const std::string missing = missing_part(*c.op);
  if (!missing.empty()) return report_.failed("a", missing);
  std::optional<Call> call;
  try {
    call = make_call(c);
  } catch (const Error& error) {
    return report_.failed("a", cat("the sample cannot be made: ", error.what()));
  }
  if (!call) return report_.skipped(cat("cases without a call: ", enum_name(c.purpose), " is none for the shape"));
  try {
    check_call(c, *call);
  } catch (const std::exception& error) {
    report_.failed("?", cat("the checks stopped: ", class_name(typeid(error)), ": ", error.what()));
  }
}

void Checker::check_call(const Case& c, const Call& call) {
  const Attempt eager = attempt([&] { return run_eager(call); });
  const bool has_result = check_reference(call, eager);
  if (eager.error != nullptr && !has_result) return;
  check_plan(c, call, eager);
  if (depth_ == Depth::Kernels || eager.error != nullptr) return;
  if (c.is_primary && c.purpose == Purpose::Typical) check_constant_sizes(call);
  if (c.purpose == Purpose::Parallel || c.purpose == Purpose::LongRows) check_threads(call, eager);
  check_target(call, eager);
  if (c.purpose != Purpose::Typical && c.purpose != Purpose::Layout) return;
  check_in_place(call, eager);
  if (c.is_primary) check_destination(call, eager);
}

// Gives back whether kernels ran: there are outputs, or an error that a kernel reports.
bool Checker::check_reference(const Call& call, const Attempt& eager) {
  const Expected expected = expect(call);
  if (expected.error != nullptr) {
    if (expected.is_refused) report_.refused(cat(call.op->name, ": ", class_name(*expected.error)));
    if (eager.error == nullptr || *eager.error != *expected.error) {
      report_.failed("a", cat("eager ", eager.text(), "; it must throw ", class_name(*expected.error), ": ", expected.message));
      return false;
    }
    report_.passed();
    return !expected.is_refused;
  }
  if (eager.error != nullptr) {
    report_.failed("a", cat("eager ", eager.text()));
    return false;
  }
  if (eager.outputs.size() != expected.outputs.size()) {
    report_.failed("a", cat("eager gave ", eager.outputs.size(), " outputs; inferred were ", expected.outputs.size()));
    return true;
  }
  for (std::size_t o = 0; o < expected.outputs.size(); ++o) {
    const std::optional<std::string> difference = value_difference(call, expected, static_cast<int>(o), eager.outputs[o]);
    if (difference) {
      report_.failed("a", *difference);
    } else {
      report_.passed();
    }
  }
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.inputs[i].array) continue;
    const std::optional<std::string> changed = test::bit_difference(test::to_tensor(*call.inputs[i].array), call.inputs[i].tensor);
    if (changed) report_.failed("a", cat("input ", i, " has changed: ", *changed));
  }
  return true;
}

void Checker::check_plan(const Case& c, const Call& call, const Attempt& eager) {
  const EagerRecord record = eager_record(*call.op, call.arguments(), call.attrs.ref());
  const Executable& executable = planned_.executable(record, report_);
  const std::vector<const Tensor*> tensors = call.tensors();
  const std::vector<i64> parameters = call.parameters();
  const std::vector<Number> numbers = call.numbers();
  const Attempt planned = attempt([&] { return run_checked(executable, tensors, parameters, numbers); });
  compare_attempts(report_, "c", eager, planned);
  const i64 limit = c.purpose == Purpose::LongRows ? kInterpretedLongElements : kInterpretedElements;
  if (largest_input(call) > limit) return report_.skipped(cat("b, interpreted: more than ", limit, " elements"));
  const Plan& plan = executable.plan();
  const Attempt interpreted =
      attempt([&] { return test::interpret_plan(plan, tensors, plan.bindings.bind(tensors, parameters), numbers); });
  compare_attempts(report_, "b", planned, interpreted);
}

void Checker::check_constant_sizes(const Call& call) {
  const Expected expected = expect(call);
  const Attempt constant = attempt([&] {
    const ir::Graph graph = constant_graph(call);
    const SizeClass size_class = size_class_of_constants(expand_composites(graph));
    return run_checked(Executable(plan_text(ir::print(graph), size_class)), call.tensors(), {}, {});
  });
  if (constant.error != nullptr) return report_.failed("c", cat("the graph with constant sizes ", constant.text()));
  for (std::size_t o = 0; o < expected.outputs.size(); ++o) {
    const std::optional<std::string> difference = value_difference(call, expected, static_cast<int>(o), constant.outputs[o]);
    if (difference) return report_.failed("c", cat("with constant sizes ", *difference));
  }
  report_.passed();
}

void Checker::check_threads(const Call& call, const Attempt& eager) {
  const std::string before = config::text("runtime.threads");
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    compare_attempts(report_, "e", attempt([&] { return run_eager(call); }), eager);
  }
  config::set("runtime.threads", before);
}

void Checker::check_target(const Call& call, const Attempt& eager) {
  if (choose_isa(cpu_features(), TargetChoice::Auto) != Isa::Avx512)
    return report_.skipped("f, AVX2 against AVX-512: this machine has no AVX-512");
  const config::ScopedConfig target("codegen.target", "avx2");
  compare_attempts(report_, "f", attempt([&] { return run_eager(call); }), eager);
}

// Each result into the input of its number, where that has its shape and dtype.
void Checker::check_in_place(const Call& call, const Attempt& eager) {
  std::vector<Input> arguments = call.arguments();
  std::vector<Tensor> destinations;
  for (std::size_t o = 0; o < eager.outputs.size(); ++o) {
    if (o >= call.inputs.size() || !call.inputs[o].array) return;
    const Tensor& x = call.inputs[o].tensor;
    const Tensor& result = eager.outputs[o];
    const bool fits = result.dtype() == x.dtype() && result.shape() == x.shape() && is_non_overlapping(x.shape(), x.strides());
    if (!fits) return;
    destinations.push_back(test::copy_storage(x));
  }
  for (std::size_t o = 0; o < destinations.size(); ++o) arguments[o] = Input(destinations[o]);
  check_written(call, arguments, destinations, eager);
}

void Checker::check_destination(const Call& call, const Attempt& eager) {
  for (const test::LayoutKind kind : {test::LayoutKind::Padded, test::LayoutKind::Transposed}) {
    std::vector<Tensor> destinations;
    for (const Tensor& result : eager.outputs) {
      const std::vector<i64> shape = test::sizes_of(result.shape());
      const std::optional<test::Placement> placement = test::place(shape, kind, 0);
      if (!placement) break;
      destinations.push_back(test::to_tensor(ir::Array::zeros(result.dtype(), shape), *placement));
    }
    if (destinations.size() == eager.outputs.size()) check_written(call, call.arguments(), destinations, eager);
  }
}

void Checker::check_written(const Call& call, const std::vector<Input>& arguments, const std::vector<Tensor>& destinations,
                            const Attempt& eager) {
  std::vector<Tensor> before;
  for (const Tensor& destination : destinations) before.push_back(test::copy_storage(destination));
  const Attempt written = attempt([&] { return apply(*call.op, arguments, call.attrs.ref(), destinations.data()); });
  if (written.error != nullptr)
    return report_.failed("h", cat("with a destination of strides ", destinations[0].strides(), " it ", written.text()));
  for (std::size_t o = 0; o < destinations.size(); ++o) {
    const Tensor& destination = destinations[o];
    if (sums_by_layout(*call.op) && !(destination.strides() == eager.outputs[o].strides())) {
      const std::optional<std::string> difference = value_difference(call, expect(call), static_cast<int>(o), destination);
      if (difference) return report_.failed("h", cat("with a destination of strides ", destination.strides(), " ", *difference));
      report_.passed();
    } else {
      compare_attempts(report_, "h", {{destination}, nullptr, {}}, {{eager.outputs[o]}, nullptr, {}});
    }
    if (!test::equal_outside(destination, before[o]))
      report_.failed("h", cat("memory around the destination has changed; its strides are ", destination.strides()));
  }
}

}  // namespace resilin::sweep
