// tests/sweep/planned.h -- the graphs of calls, printed, parsed, expanded, planned: what compile does with a graph, beside eager.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "resilin/dispatch/execute.h"

#include "tests/sweep/call.h"
#include "tests/sweep/report.h"

namespace resilin::sweep {

/// The texts of the kernels that a plan launches, in order.
std::vector<std::string> kernel_texts(const Plan& plan);

/// Plans a graph read from its text: parse, verify, expand, make_plan.
Plan plan_text(const std::string& text, const SizeClass& size_class);

/// Executables of eager's graphs, each made once from its printed text. Checks on the way that the text parses to an equal graph and that the
/// plan of it launches eager's kernels (checks c and d).
class PlannedGraphs {
 public:
  const Executable& executable(const EagerRecord& record, Report& report);

 private:
  std::unordered_map<std::string, std::unique_ptr<Executable>> executables_;
};

/// The graph of the call with every size a constant.
ir::Graph constant_graph(const Call& call);
SizeClass size_class_of_constants(const ir::Graph& expanded);

}  // namespace resilin::sweep
