// src/resilin/runtime/executable.cpp -- Executable: a plan with the code of its kernels, and how it runs.
#include "resilin/runtime/executable.h"

#include <utility>

#include "resilin/base/overloaded.h"
#include "resilin/runtime/launch.h"

namespace resilin {
namespace {

[[gnu::tls_model("initial-exec")]] thread_local constinit i64 launches = 0;

void check_sizes(const Plan& plan, std::span<const i64> integers, bool with_fresh_sizes) {
  const auto integer = [&](int index) { return integers[static_cast<std::size_t>(index)]; };
  for (const PlanCheck& check : plan.checks) {
    if (check.needs_fresh_size && !with_fresh_sizes) continue;
    if (integer(check.a) != integer(check.b))
      throw ShapeError(cat(check.message, ": ", integer(check.a), " and ", integer(check.b), "; they must be equal"));
  }
}

PlanIntegers evaluate_integers(const Plan& plan, std::span<const i64> symbols, bool with_fresh_sizes) {
  PlanIntegers integers;
  integers.resize(plan.integers.size(), 0);
  plan.integers.evaluate(symbols, integers.data());
  check_sizes(plan, integers, with_fresh_sizes);
  return integers;
}

Shape dims(const IntegerRange& range, std::span<const i64> integers) {
  Shape out;
  for (const i64 size : integers.subspan(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.count))) out.push_back(size);
  return out;
}

Tensor allocate(const AllocateStep& step, std::span<const i64> integers) {
  const Shape shape = dims(step.shape, integers);
  if (step.strides.count == 0) return Tensor::allocate(shape, step.dtype);
  const i64 bytes = product(shape).value() * size_bytes(step.dtype);  // strides are a dense order of the axes
  return Tensor::unchecked_view(Storage::allocate(bytes), step.dtype, 0, shape, dims(step.strides, integers));
}

bool is_one_kernel(const Plan& plan) {
  if (plan.steps.size() != 2 || plan.outputs.size() != 1 || plan.slot_count != plan.graph.input_count() + 1) return false;
  const AllocateStep* result = std::get_if<AllocateStep>(&plan.steps[0].body);
  return result != nullptr && result->slot == plan.outputs[0] && std::holds_alternative<LaunchStep>(plan.steps[1].body);
}

// One call of a plan: values of symbols and integers, and the tensors in the slots (inputs are borrowed, the rest are made here).
class Call {
 public:
  Call(const Plan& plan, std::span<const std::shared_ptr<const Code>> code, std::span<const Tensor* const> inputs,
       std::span<const i64> symbols, std::span<const i64> integers, std::span<const Number> numbers)
      : plan_(plan), code_(code), numbers_(numbers), symbols_(symbols), integers_(integers), input_count_(inputs.size()), slots_(inputs) {
    made_.resize(static_cast<std::size_t>(plan.slot_count) - input_count_);
    for (const Tensor& made : made_) slots_.push_back(&made);
  }

  Outputs run() {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      run_step(plan_.steps[s].body, code_[s].get());
      for (const int slot : plan_.steps[s].free) made(slot) = Tensor();
    }
    Outputs outputs;
    for (const int slot : plan_.outputs) outputs.push_back(tensor(slot));
    return outputs;
  }

 private:
  const Tensor& tensor(int slot) const { return *slots_[static_cast<std::size_t>(slot)]; }
  Tensor& made(int slot) { return made_[static_cast<std::size_t>(slot) - input_count_]; }
  i64 integer(int index) const { return integers_[static_cast<std::size_t>(index)]; }

  void run_step(const StepBody& body, const Code* code) {
    std::visit(Overloaded{[&](const AllocateStep& step) { made(step.slot) = allocate(step, integers_); },
                          [&](const AliasStep& step) { alias(step); },
                          [&](const LaunchStep& step) {
                            ++launches;
                            launch(step, *code, integers_, slots_, numbers_);
                          },
                          [&](const ContractStep& step) {
                            ++launches;
                            contract(step, tensor(step.a), tensor(step.b), tensor(step.out));
                          },
                          [&](const ExternStep& step) { run_extern(step); }},
               body);
  }

  void alias(const AliasStep& step) {
    const Tensor& source = tensor(step.source);
    const Shape shape = dims(step.shape, integers_);
    const i64 shift = product(shape) == 0 ? 0 : integer(step.offset);  // an empty view has no first element to point at
    made(step.slot) = Tensor::view(source.storage(), source.dtype(), source.offset() + shift, shape, dims(step.strides, integers_));
  }

  Dim concrete(Dim e) const {
    return evaluate(e, [&](Symbol s) { return symbols_[static_cast<std::size_t>(s.index)]; });
  }
  void run_extern(const ExternStep& step) {
    std::vector<Tensor> inputs;
    for (const int slot : step.inputs) inputs.push_back(slot < 0 ? Tensor() : tensor(slot));
    std::vector<Tensor> outputs;
    for (const ir::Type& type : step.output_types) {
      if (!step.fresh.empty()) {
        outputs.emplace_back();
        continue;
      }
      Shape shape;
      for (const Dim d : type.shape) shape.push_back(concrete(d));
      outputs.push_back(Tensor::allocate(shape, type.dtype));
    }
    const auto number = [&](Number n) { return n.is_argument() ? numbers_[static_cast<std::size_t>(n.argument_index())] : n; };
    const ir::Attrs attrs(step.attrs.info().map_values(
                              step.attrs.data(), [&](Dim d) { return concrete(d); }, number),
                          &step.attrs.info());
    std::get<ir::Extern>(step.op->lower).run({inputs, attrs.ref(), outputs});
    for (std::size_t o = 0; o < outputs.size(); ++o) made(step.outputs[o]) = outputs[o];
    if (step.fresh.empty()) return;
    found_symbols_ = SymbolValues(symbols_);
    for (const ExternStep::FreshSize& fresh : step.fresh) {
      found_symbols_[static_cast<std::size_t>(fresh.symbol)] = outputs[static_cast<std::size_t>(fresh.output)].size(fresh.axis).value();
    }
    found_integers_ = evaluate_integers(plan_, found_symbols_, true);
    symbols_ = found_symbols_;
    integers_ = found_integers_;
  }

  const Plan& plan_;
  std::span<const std::shared_ptr<const Code>> code_;
  std::span<const Number> numbers_;
  std::span<const i64> symbols_;
  std::span<const i64> integers_;
  const std::size_t input_count_;
  SmallVector<const Tensor*, 8> slots_;
  SmallVector<Tensor, 4> made_;
  // With the sizes that an Extern found out.
  SymbolValues found_symbols_;
  PlanIntegers found_integers_;
};

}  // namespace

i64 launch_count() { return launches; }

Executable::Executable(Plan plan) : plan_(std::move(plan)), is_one_kernel_(is_one_kernel(plan_)) {
  for (const Step& step : plan_.steps) {
    const LaunchStep* launch = std::get_if<LaunchStep>(&step.body);
    code_.push_back(launch == nullptr ? nullptr : kernel_for(*launch->nest, launch->text));
  }
}

PlanIntegers Executable::evaluate(std::span<const i64> symbols) const { return evaluate_integers(plan_, symbols, false); }

Outputs Executable::run(std::span<const Tensor* const> inputs, std::span<const i64> symbols, std::span<const i64> integers,
                        std::span<const Number> numbers) const {
  if (is_one_kernel_) return run_one_kernel(inputs, integers, numbers);
  return Call(plan_, code_, inputs, symbols, integers, numbers).run();
}

Outputs Executable::run_one_kernel(std::span<const Tensor* const> inputs, std::span<const i64> integers,
                                   std::span<const Number> numbers) const {
  Outputs outputs;
  outputs.push_back(allocate(*std::get_if<AllocateStep>(&plan_.steps[0].body), integers));
  SmallVector<const Tensor*, 8> slots(inputs);
  slots.push_back(&outputs[0]);
  ++launches;
  launch(*std::get_if<LaunchStep>(&plan_.steps[1].body), *code_[1], integers, slots, numbers);
  return outputs;
}

namespace {

void check_counts(const Plan& plan, std::size_t inputs, std::size_t parameters, std::size_t numbers) {
  const ir::Graph& graph = plan.graph;
  if (static_cast<int>(inputs) == graph.input_count() && parameters == plan.bindings.parameters.size() && numbers == graph.numbers().size())
    return;
  throw ArgumentError(cat("run: ", inputs, " inputs, ", parameters, " integers and ", numbers, " numbers given; the graph takes ",
                          graph.input_count(), ", ", plan.bindings.parameters.size(), " and ", graph.numbers().size()));
}

void check_declared(const Facts& facts, std::span<const i64> symbols) {
  for (std::size_t s = 0; s < symbols.size(); ++s) {
    const Range declared = facts.range(Dim::symbol('s', static_cast<int>(s)));
    if (symbols[s] < declared.low || symbols[s] > declared.high) {
      throw ArgumentError(
          cat("run: size s", s, " is ", symbols[s], "; it was declared to lie in [", declared.low, ", ", declared.high, "]"));
    }
  }
}

bool fits(const Tensor& x, const ir::Type& type, std::span<const i64> symbols) {
  if (x.dtype() != type.dtype || x.ndim() != type.ndim()) return false;
  const auto value = [&](Dim e) { return evaluate(e, [&](Symbol s) { return symbols[static_cast<std::size_t>(s.index)]; }); };
  const Strides strides = ir::strides_of(type);
  for (std::size_t a = 0; a < type.shape.size(); ++a) {
    if (!(x.shape()[a] == value(type.shape[a]))) return false;
    const bool stride_counts = !(x.shape()[a] == 1) && !(x.numel() == 0);
    if (stride_counts && !(x.strides()[a] == value(strides[a]))) return false;
  }
  return true;
}

}  // namespace

Outputs run_checked(const Executable& executable, std::span<const Tensor* const> inputs, std::span<const i64> parameters,
                    std::span<const Number> numbers) {
  const Plan& plan = executable.plan();
  check_counts(plan, inputs.size(), parameters.size(), numbers.size());
  const auto refuse = [&](int input) {
    const Tensor& x = *inputs[static_cast<std::size_t>(input)];
    throw ShapeError(cat("run: input ", input, " does not fit: it is ", x.dtype(), x.shape(), " with strides ", x.strides(),
                         "; it must be ", plan.graph.type({input})));
  };
  for (int v = 0; v < plan.graph.input_count(); ++v) {
    if (inputs[static_cast<std::size_t>(v)]->ndim() != plan.graph.type({v}).ndim()) refuse(v);
  }
  const SymbolValues symbols = plan.bindings.bind(inputs, parameters);
  check_declared(plan.graph.facts(), symbols);
  for (int v = 0; v < plan.graph.input_count(); ++v) {
    if (!fits(*inputs[static_cast<std::size_t>(v)], plan.graph.type({v}), symbols)) refuse(v);
  }
  return executable.run(inputs, symbols, executable.evaluate(symbols), numbers);
}

}  // namespace resilin
