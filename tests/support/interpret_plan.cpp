// tests/support/interpret_plan.cpp -- runs a Plan with the nest interpreter in place of generated code.
#include "tests/support/interpret_plan.h"

#include <utility>

#include "resilin/loop/interpret.h"
#include "resilin/loop/status.h"
#include "resilin/runtime/launch.h"

namespace resilin::test {
namespace {

[[noreturn]] void throw_failure(const LaunchStep& step, const loop::Failure& failure) {
  const std::string text = cat(step.name, ": interpreted: value ", failure.value, " at element ", failure.element);
  switch (static_cast<StatusCode>(failure.code)) {
    case StatusCode::IndexOutOfRange: throw IndexError(text);
    case StatusCode::DivisionByZero: throw NumericError(text);
    case StatusCode::NegativeExponent: throw ArgumentError(text);
    default: throw InternalError(text);
  }
}

class Interpretation {
 public:
  Interpretation(const Plan& plan, std::span<const Tensor* const> inputs, SymbolValues symbols, std::span<const Number> numbers)
      : plan_(plan), numbers_(numbers), symbols_(std::move(symbols)), slots_(static_cast<std::size_t>(plan.slot_count)) {
    for (std::size_t i = 0; i < inputs.size(); ++i) slots_[i] = *inputs[i];
    integers_.resize(plan.integers.size(), 0);
    plan_.integers.evaluate(symbols_, integers_.data());
  }

  Outputs run() {
    for (const PlanCheck& check : plan_.checks) {
      if (at(check.a) != at(check.b)) throw ShapeError(cat(check.message, ": interpreted: ", at(check.a), " and ", at(check.b)));
    }
    for (const Step& step : plan_.steps) {
      std::visit(*this, step.body);
      for (const int free : step.free) slot(free) = Tensor();
    }
    Outputs outputs;
    for (const int output : plan_.outputs) outputs.push_back(slot(output));
    return outputs;
  }

  void operator()(const AllocateStep& step) {
    const Shape shape = dims(step.shape);
    if (step.strides.count == 0) {
      slot(step.slot) = Tensor::allocate(shape, step.dtype);
      return;
    }
    slot(step.slot) =
        Tensor::view(Storage::allocate(product(shape).value() * size_bytes(step.dtype)), step.dtype, 0, shape, dims(step.strides));
  }

  void operator()(const AliasStep& step) {
    const Tensor source = slot(step.source);
    const Shape shape = dims(step.shape);
    const i64 shift = product(shape) == 0 ? 0 : at(step.offset);
    slot(step.slot) = Tensor::view(source.storage(), source.dtype(), source.offset() + shift, shape, dims(step.strides));
  }

  void operator()(const LaunchStep& step) {
    for (const LaunchStep::NonEmpty& check : step.non_empty) {
      const LaunchStep::CheckSite& site = step.check_sites[static_cast<std::size_t>(check.site)];
      if (at(check.count) > 0 && at(site.high) <= at(site.low))
        throw IndexError(cat(step.name, ": interpreted: an index into an axis of size 0"));
    }
    loop::Arguments arguments;
    for (const int from : step.pointers) arguments.pointers.push_back(from >= 0 ? slot(from).data() : nullptr);
    for (int i = 0; i < step.integers.count; ++i) arguments.integers.push_back(at(step.integers.first + i));
    for (const Number& number : step.arguments) arguments.values.push_back(static_cast<std::uint64_t>(value_of(number).bits()));
    for (const LaunchStep::TableRow& row : step.table) {
      loop::TableEntry entry{{slot(row.slot).data()}, {}};
      for (int c = 0; c < row.columns.count; ++c) entry.integers.push_back(at(row.columns.first + c));
      arguments.table.push_back(std::move(entry));
    }
    const std::optional<loop::Failure> failure = loop::interpret(*step.nest, arguments);
    if (failure) throw_failure(step, *failure);
  }

  void operator()(const ContractStep& step) { contract(step, slot(step.a), slot(step.b), slot(step.out)); }

  void operator()(const ExternStep& step) {
    std::vector<Tensor> inputs;
    for (const int from : step.inputs) inputs.push_back(from < 0 ? Tensor() : slot(from));
    std::vector<Tensor> outputs;
    for (const ir::Type& type : step.output_types) outputs.push_back(step.fresh.empty() ? allocate(type) : Tensor());
    const ir::Attrs attrs(step.attrs.info().map_values(
                              step.attrs.data(), [&](Dim d) { return Dim(concrete(d)); }, [&](const Number& n) { return value_of(n); }),
                          &step.attrs.info());
    std::get<ir::Extern>(step.op->lower).run({inputs, attrs.ref(), outputs});
    for (std::size_t o = 0; o < outputs.size(); ++o) slot(step.outputs[o]) = outputs[o];
    for (const ExternStep::FreshSize& fresh : step.fresh) {
      symbols_[static_cast<std::size_t>(fresh.symbol)] = outputs[static_cast<std::size_t>(fresh.output)].size(fresh.axis).value();
    }
    if (!step.fresh.empty()) plan_.integers.evaluate(symbols_, integers_.data());
  }

 private:
  Tensor& slot(int index) { return slots_[static_cast<std::size_t>(index)]; }
  i64 at(int integer) const { return integers_[static_cast<std::size_t>(integer)]; }
  i64 concrete(Dim e) const {
    return evaluate(e, [&](Symbol s) { return symbols_[static_cast<std::size_t>(s.index)]; });
  }
  Tensor allocate(const ir::Type& type) const {
    Shape shape;
    for (const Dim d : type.shape) shape.push_back(concrete(d));
    return Tensor::allocate(shape, type.dtype);
  }
  Number value_of(const Number& n) const { return n.is_argument() ? numbers_[static_cast<std::size_t>(n.argument_index())] : n; }
  Shape dims(const IntegerRange& range) const {
    Shape out;
    for (int i = 0; i < range.count; ++i) out.push_back(at(range.first + i));
    return out;
  }

  const Plan& plan_;
  std::span<const Number> numbers_;
  SymbolValues symbols_;
  std::vector<i64> integers_;
  std::vector<Tensor> slots_;
};

}  // namespace

Outputs interpret_plan(const Plan& plan, std::span<const Tensor* const> inputs, SymbolValues symbols, std::span<const Number> numbers) {
  return Interpretation(plan, inputs, std::move(symbols), numbers).run();
}

}  // namespace resilin::test
