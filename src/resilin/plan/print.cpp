// src/resilin/plan/print.cpp -- the steps of a plan as text, for RESILIN_SHOW=plan.
#include "resilin/base/overloaded.h"
#include "resilin/plan/plan.h"

namespace resilin {
namespace {

std::string line_of(const StepBody& body) {
  return std::visit(
      Overloaded{
          [](const AllocateStep& step) { return cat("allocate t", step.slot, " ", step.dtype); },
          [](const AliasStep& step) { return cat("alias t", step.slot, " of t", step.source); },
          [](const LaunchStep& step) { return cat("launch ", step.name, " on ", step.pointers, " in ", step.extents.count, " phase(s)"); },
          [](const ContractStep& step) { return cat("contract t", step.out, " = '", step.labels, "' of t", step.a, ", t", step.b); },
          [](const ExternStep& step) { return cat("extern ", step.op->name, " ", step.inputs, " -> ", step.outputs); }},
      body);
}

}  // namespace

std::string print(const Plan& plan) {
  std::string text;
  for (const Step& step : plan.steps) {
    text += line_of(step.body);
    if (!step.free.empty()) text += cat("  free ", step.free);
    text += "\n";
  }
  return text;
}

}  // namespace resilin
