// src/resilin/autograd/backward.cpp -- gradients of results: added to the leaves, or given back.
#include "resilin/autograd/backward.h"

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

// The gradient with which output `i` starts.
Tensor seed(const Tensor& output, const Tensor& given, std::size_t i) {
  if (!requires_grad(output)) throw ArgumentError(cat("element ", i, " of tensors does not require grad and does not have a grad_fn"));
  if (!given.defined()) {
    if (!(output.numel() == 1)) throw ArgumentError("grad can be implicitly created only for scalar outputs");
    return ones(output.shape(), output.dtype());
  }
  if (!(given.shape() == output.shape())) {
    throw ShapeError(cat("Mismatch in shape: grad_output[", i, "] has a shape of ", given.shape(), " and output[", i, "] has a shape of ",
                         output.shape(), "."));
  }
  return cast(given, output.dtype());
}

void add_root(BackwardCall& call, const Tensor& output, const Tensor& given) {
  call.grads.push_back(seed(output, given, call.roots.size()));
  call.roots.push_back(edge_of(output));
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
  add_root(call, loss, options.gradient);
  Gradients captured = run_backward(call);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!captured[i].defined()) continue;
    Tensor sum = grad(results[i]);
    accumulate(sum, std::move(captured[i]));
    set_grad(results[i], sum);
  }
}

std::vector<Tensor> gradients(std::span<const Tensor> outputs, std::span<const Tensor> inputs, const GradientOptions& options) {
  if (!options.grad_outputs.empty() && options.grad_outputs.size() != outputs.size()) {
    throw ArgumentError(cat("gradients: got ", outputs.size(), " tensors and ", options.grad_outputs.size(), " gradients"));
  }
  BackwardCall call;
  call.keeps_saved = options.retain_graph.value_or(options.create_graph);
  call.is_restricted = true;
  for (const Tensor& input : inputs) {
    if (!requires_grad(input)) {
      if (!options.allow_unused && !options.materialize_grads)
        throw ArgumentError("One of the differentiated Tensors does not require grad");
      call.captures.emplace_back();
    } else {
      call.captures.push_back(edge_of(input));
    }
  }
  const GradMode mode(options.create_graph);
  for (std::size_t o = 0; o < outputs.size(); ++o)
    add_root(call, outputs[o], options.grad_outputs.empty() ? Tensor() : options.grad_outputs[o]);
  Gradients result = run_backward(call);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i].defined()) continue;
    if (options.materialize_grads) {
      result[i] = zeros(inputs[i].shape(), inputs[i].dtype());
    } else if (!options.allow_unused) {
      throw ArgumentError(
          "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the desired "
          "behavior.");
    }
  }
  return result;
}

std::vector<Tensor> gradients(const Tensor& output, std::initializer_list<Tensor> inputs, const GradientOptions& options) {
  return gradients({&output, 1}, {inputs.begin(), inputs.size()}, options);
}

}  // namespace resilin
