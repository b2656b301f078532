// src/resilin/codegen/lower_scan.cpp -- Internal: lowers a region whose last node is a Scan.
#include <utility>

#include "resilin/codegen/axes.h"
#include "resilin/codegen/formula_context.h"
#include "resilin/codegen/lower_rows.h"

namespace resilin {
namespace {

constexpr int kScanLanes = 64;

// The loop variable of every axis of a shape, the scanned one apart.
struct ScanSpace {
  Shape index;
  std::vector<Axis> outer;
  Axis scanned;
};

ScanSpace scan_space(const Shape& shape, i64 axis, Evaluator& evaluator) {
  ScanSpace space;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    const bool scanned = static_cast<i64>(a) == axis;
    if (shape[a] == 1 && !scanned) {
      space.index.push_back(0);
      continue;
    }
    const Axis loop{evaluator.new_variable(), shape[a]};
    space.index.push_back(Dim::symbol(loop.variable));
    assume_index(evaluator.facts(), loop.variable, loop.size);
    if (scanned) {
      space.scanned = loop;
    } else {
      space.outer.push_back(loop);
    }
  }
  return space;
}

}  // namespace

void lower_scan(const ir::Graph& region, Lowered& out) {
  const ir::Node& node = region.nodes().back();
  const ir::Scan& form = std::get<ir::Scan>(node.op->lower);
  const ir::Type& input = region.type(std::get<ir::ValueId>(node.inputs[0]));
  const i64 axis = form.axis(node.attrs.ref(), input.ndim());
  Evaluator evaluator(region, out);
  ScanSpace space = scan_space(input.shape, axis, evaluator);
  const bool along_rows =
      space.outer.empty() || evaluator.simplify(ir::strides_of(region.type(node.outputs[0]))[static_cast<std::size_t>(axis)]) == 1;

  loop::Scan scan;
  scan.variable = space.scanned.variable;
  scan.extent = space.scanned.size;
  scan.lanes = along_rows ? kScanLanes : 1;
  evaluator.enter(scan.body);
  const i64 axes[] = {axis};
  ReduceEvaluation context(evaluator, node, space.index, axes);
  scan.combiner = form.build(context);
  std::vector<loop::Scalar> results;
  for (const loop::Scalar& init : scan.combiner.init) {
    scan.results.push_back(evaluator.new_local());
    results.push_back(loop::Scalar::local(init.dtype(), scan.results.back()));
  }
  evaluator.enter(scan.after);
  const std::vector<loop::Scalar> outputs = form.finish(context, results);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const ir::ValueId id = node.outputs[o];
    evaluator.store(id, space.index, loop::cast(outputs[o], region.type(id).dtype));
  }

  loop::Block row;
  row.push_back({std::move(scan)});
  loop::Block* const blocks[] = {&row};
  merge_axes(space.outer, blocks, evaluator.facts());
  out.nest.phases.push_back(parallel_phase(std::move(row), space.outer, !along_rows, evaluator.new_variable()));
}

}  // namespace resilin
