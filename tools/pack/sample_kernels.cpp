// tools/pack/sample_kernels.cpp -- the kernels that the samples of all ops launch, for programs that make or measure them all.
#include "tools/pack/sample_kernels.h"

#include <optional>
#include <unordered_set>

#include "resilin/dispatch/execute.h"
#include "resilin/dispatch/trace.h"
#include "resilin/ops/registry.h"
#include "resilin/plan/plan.h"

namespace resilin::tool {
namespace {

Dim typical(const ir::Sample& sample, Dim size) {
  return evaluate(size, [&](Symbol s) { return sample.sizes[static_cast<std::size_t>(s.index)]; });
}

// Nothing when the op refuses the dtype.
std::optional<ir::Graph> graph_of(const ir::OpDef& op, const ir::Sample& sample, DType dtype) {
  std::vector<Tensor> tensors;
  for (const ir::SampleInput& input : sample.inputs) {
    Shape shape;
    for (const Dim size : input.shape) shape.push_back(typical(sample, size));
    tensors.push_back(input.number ? Tensor() : Tensor::allocate(shape, input.dtype.value_or(dtype)));
  }
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    inputs.push_back(sample.inputs[i].number ? Input(*sample.inputs[i].number) : Input(tensors[i]));
  while (inputs.size() < op.inputs.size() && op.inputs[inputs.size()].kind == ir::InputKind::Optional) inputs.emplace_back();
  const auto size = [&](Dim d) { return typical(sample, d); };
  const auto number = [](const Number& n) { return n; };
  const ir::Attrs attrs(sample.attrs.info().map_values(sample.attrs.data(), size, number), &sample.attrs.info());
  try {
    return eager_graph(op, inputs, attrs.ref());
  } catch (const DtypeError&) {
    return std::nullopt;
  }
}

bool depends_on_dtype(const ir::Sample& sample) {
  for (const ir::SampleInput& input : sample.inputs) {
    if (!input.dtype && !input.number) return true;
  }
  return false;
}

std::vector<SizeClass> possible_classes(const ir::Graph& expanded) {
  const SizeSelectors selectors = size_selectors(expanded);
  std::vector<SizeClass> classes = {{}};
  if (!selectors.reduced_elements.is_constant()) classes.push_back({.long_rows = true, .streaming = false});
  if (selectors.output_bytes.is_constant()) return classes;
  const std::size_t count = classes.size();
  for (std::size_t i = 0; i < count; ++i) classes.push_back({.long_rows = classes[i].long_rows, .streaming = true});
  return classes;
}

}  // namespace

std::vector<SampleGraph> sample_graphs(std::span<const DType> dtypes) {
  std::vector<SampleGraph> graphs;
  for (const OpTable& family : op_families()) {
    for (const ir::OpDef* op : family) {
      const std::vector<ir::Sample> samples = op->samples == nullptr ? std::vector<ir::Sample>() : op->samples();
      for (std::size_t s = 0; s < samples.size(); ++s) {
        const std::size_t count = depends_on_dtype(samples[s]) ? dtypes.size() : 1;
        for (const DType dtype : dtypes.first(count)) {
          std::optional<ir::Graph> graph = graph_of(*op, samples[s], dtype);
          if (graph) graphs.push_back({cat(op->name, " #", s, " ", dtype), std::move(*graph)});
        }
      }
    }
  }
  return graphs;
}

std::vector<SampleKernel> sample_kernels(std::span<const SampleGraph> graphs) {
  std::vector<SampleKernel> kernels;
  std::unordered_set<std::string> seen;
  for (const SampleGraph& sample : graphs) {
    const ir::Graph expanded = expand_composites(sample.graph);
    for (const SizeClass& size_class : possible_classes(expanded)) {
      for (const Step& step : make_plan(expanded, size_class).steps) {
        const LaunchStep* const launch = std::get_if<LaunchStep>(&step.body);
        if (launch != nullptr && seen.insert(launch->text).second)
          kernels.push_back({cat(sample.name, ": ", launch->name), launch->nest, launch->text});
      }
    }
  }
  return kernels;
}

}  // namespace resilin::tool
