// src/resilin/autograd/backward.cpp -- gradients of results: added to the leaves, or given back.
#include "resilin/autograd/backward.h"

#include <algorithm>

#include "resilin/autograd/accumulate.h"
#include "resilin/autograd/engine.h"
#include "resilin/autograd/history.h"
#include "resilin/autograd/hooks.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/create/fill.h"

namespace resilin {
namespace {

using namespace tape;

Edge root_of(const Tensor& output, std::size_t i) {
  if (!requires_grad(output)) throw ArgumentError(cat("element ", i, " of tensors does not require grad and does not have a grad_fn"));
  return edge_of(output);
}

// The gradient with which output `i` starts.
Tensor seed(const GradType& type, const Tensor& given, std::size_t i) {
  if (!given.defined()) {
    const bool is_scalar = std::all_of(type.shape.begin(), type.shape.end(), [](Dim size) { return size == 1; });
    if (!is_scalar) throw ArgumentError("grad can be implicitly created only for scalar outputs");
    return ones(type.shape, type.dtype);
  }
  if (!(given.shape() == type.shape)) {
    throw ShapeError(cat("Mismatch in shape: grad_output[", i, "] has a shape of ", given.shape(), " and output[", i, "] has a shape of ",
                         type.shape, "."));
  }
  return type.takes_any_dtype ? given : cast(given, type.dtype);
}

void add_root(BackwardCall& call, Edge root, const Tensor& given) {
  call.grads.push_back(seed(root.node->outputs[static_cast<std::size_t>(root.output)], given, call.roots.size()));
  call.roots.push_back(std::move(root));
}

void check_grad_outputs(std::size_t outputs, const GradientOptions& options) {
  if (options.grad_outputs.empty() || options.grad_outputs.size() == outputs) return;
  throw ArgumentError(cat("gradients: got ", outputs, " tensors and ", options.grad_outputs.size(), " gradients"));
}

// Of `roots` by the call's captures, whose types serve where no gradient arrives.
Gradients run_from(BackwardCall& call, std::span<const Edge> roots, std::span<const GradType> types, const GradientOptions& options) {
  call.keeps_saved = options.retain_graph.value_or(options.create_graph);
  call.is_restricted = true;
  const GradMode mode(options.create_graph);
  for (std::size_t o = 0; o < roots.size(); ++o)
    add_root(call, roots[o], options.grad_outputs.empty() ? Tensor() : options.grad_outputs[o]);
  Gradients result = run_backward(call);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i].defined()) continue;
    if (options.materialize_grads) {
      result[i] = zeros(types[i].shape, types[i].dtype);
    } else if (!options.allow_unused) {
      throw ArgumentError(
          "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the desired "
          "behavior.");
    }
  }
  return result;
}

}  // namespace

void backward(const Tensor& loss, const BackwardOptions& options) {
  BackwardCall call;
  call.keeps_saved = options.retain_graph.value_or(options.create_graph);
  call.is_restricted = !options.inputs.empty();
  std::vector<Tensor> results;  // inputs that are no leaves
  for (const Tensor& input : options.inputs) {
    if (!requires_grad(input)) throw ArgumentError("One of the differentiated Tensors does not require grad");
    (is_leaf(input) ? call.leaves : call.captures).push_back(edge_of(input));
    if (!is_leaf(input)) results.push_back(input);
  }
  const GradMode mode(options.create_graph);
  add_root(call, root_of(loss, 0), options.gradient);
  Gradients captured = run_backward(call);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!captured[i].defined()) continue;
    Tensor sum = grad(results[i]);
    accumulate(sum, std::move(captured[i]));
    set_grad(results[i], sum);
  }
}

std::vector<Tensor> gradients(std::span<const Tensor> outputs, std::span<const Tensor> inputs, const GradientOptions& options) {
  check_grad_outputs(outputs.size(), options);
  BackwardCall call;
  std::vector<GradType> types;
  for (const Tensor& input : inputs) {
    if (!requires_grad(input) && !options.allow_unused && !options.materialize_grads)
      throw ArgumentError("One of the differentiated Tensors does not require grad");
    call.captures.push_back(edge_of(input));
    types.emplace_back(input.dtype(), input.shape());
  }
  std::vector<Edge> roots;
  for (std::size_t o = 0; o < outputs.size(); ++o) roots.push_back(root_of(outputs[o], o));
  return run_from(call, roots, types, options);
}

std::vector<Tensor> edge_gradients(std::span<const GradientEdge> outputs, std::span<const GradientEdge> inputs,
                                   const GradientOptions& options) {
  check_grad_outputs(outputs.size(), options);
  const auto edge_from = [](const GradientEdge& edge) {
    Node* const node = edge.node.step();
    if (node == nullptr) throw ArgumentError("edge_gradients: an edge without a node; gradient_edge() gives one with it");
    if (edge.output < 0 || edge.output >= static_cast<int>(node->outputs.size()))
      throw ArgumentError(cat("edge_gradients: output ", edge.output, " of ", node->name(), "; it has ", node->outputs.size()));
    return Edge(NodePtr(node), edge.output);
  };
  BackwardCall call;
  std::vector<GradType> types;
  for (const GradientEdge& input : inputs) {
    call.captures.push_back(edge_from(input));
    types.push_back(call.captures.back().node->outputs[static_cast<std::size_t>(input.output)]);
  }
  std::vector<Edge> roots;
  for (const GradientEdge& output : outputs) roots.push_back(edge_from(output));
  return run_from(call, roots, types, options);
}

std::vector<Tensor> gradients(const Tensor& output, std::initializer_list<Tensor> inputs, const GradientOptions& options) {
  return gradients({&output, 1}, {inputs.begin(), inputs.size()}, options);
}

}  // namespace resilin
