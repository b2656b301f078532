// tests/sweep/planned.cpp -- the graphs of calls, printed, parsed, expanded, planned.
#include "tests/sweep/planned.h"

#include "resilin/base/config.h"
#include "resilin/dispatch/trace.h"
#include "resilin/ops/registry.h"

namespace resilin::sweep {

std::vector<std::string> kernel_texts(const Plan& plan) {
  std::vector<std::string> texts;
  for (const Step& step : plan.steps) {
    if (const LaunchStep* launch = std::get_if<LaunchStep>(&step.body)) texts.push_back(launch->text);
  }
  return texts;
}

Plan plan_text(const std::string& text, const SizeClass& size_class) {
  const ir::Graph graph = ir::parse(text, find_op);
  ir::verify(graph);
  return make_plan(expand_composites(graph), size_class);
}

namespace {

// The text parses and prints again as it was, of the graph and of its expanded form.
void check_text(const ir::Graph& graph, Report& report) {
  for (const ir::Graph& form : {graph, expand_composites(graph)}) {
    const std::string text = ir::print(form);
    const std::string again = ir::print(ir::parse(text, find_op));
    if (again == text) {
      report.passed();
    } else {
      report.failed("d", cat("the parsed graph prints otherwise:\n", text, "\nprints as\n", again));
    }
  }
}

}  // namespace

const Executable& PlannedGraphs::executable(const EagerRecord& record, Report& report) {
  const std::string text = ir::print(record.graph);
  const std::string key =
      cat(text, record.size_class.long_rows, record.size_class.streaming, config::text("codegen.target"), config::text("codegen.mutant"));
  std::unique_ptr<Executable>& known = executables_[key];
  if (known != nullptr) return *known;
  check_text(record.graph, report);
  Plan plan = plan_text(text, record.size_class);
  if (kernel_texts(plan) == record.kernel_texts) {
    report.passed();
  } else {
    report.failed("c", cat("the parsed graph is planned to other kernels than eager's; the graph is\n", text));
  }
  known = std::make_unique<Executable>(std::move(plan));
  return *known;
}

ir::Graph constant_graph(const Call& call) {
  ir::Graph graph;
  std::vector<ir::Operand> operands;
  for (const CallInput& input : call.inputs) {
    if (input.number) {
      operands.emplace_back(*input.number);
    } else if (!input.tensor.defined()) {
      operands.emplace_back(std::monostate{});
    } else {
      ir::Type type{input.tensor.dtype(), input.tensor.shape(), {}};
      if (!input.tensor.is_contiguous()) type.strides = input.tensor.strides();
      operands.emplace_back(graph.add_input(std::move(type)));
    }
  }
  Tracer tracer(graph, CompositeMode::Keep);
  graph.set_outputs(tracer.append(*call.op, std::move(operands), call.attrs));
  return graph;
}

SizeClass size_class_of_constants(const ir::Graph& expanded) {
  const SizeSelectors selectors = size_selectors(expanded);
  const auto known = [](Dim d) { return d.is_constant() ? d.value() : 0; };  // not so where an Extern finds a size out
  return size_class_of(known(selectors.reduced_elements), known(selectors.output_bytes));
}

}  // namespace resilin::sweep
