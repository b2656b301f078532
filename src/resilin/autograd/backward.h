// src/resilin/autograd/backward.h -- gradients of results: added to the leaves, or given back.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "resilin/autograd/node.h"
#include "resilin/tensor/tensor.h"

namespace resilin {

struct BackwardOptions {
  Tensor gradient = {};                             // of the loss; 1 when undefined
  std::optional<bool> retain_graph = std::nullopt;  // what was saved stays for another backward; create_graph when absent
  bool create_graph = false;                        // the gradients have a history themselves
  std::vector<Tensor> inputs = {};                  // only these get gradients; empty: all leaves
};
/// Adds the gradient of `loss` to the gradients of the leaves behind it (`grad`).
///
/// Runs on this thread, the latest step first, so that the order of sums is the same every time. Hooks may call backward again.
/// Errors  ArgumentError with torch's words: nothing requires a gradient, the loss is no scalar and no gradient is given, a second backward without
/// retain_graph, a saved tensor that was written since; ShapeError for a gradient of another shape
RESILIN_API void backward(const Tensor& loss, const BackwardOptions& options = {});

struct GradientOptions {
  std::vector<Tensor> grad_outputs = {};  // per output, 1 where undefined; empty: all 1
  std::optional<bool> retain_graph = std::nullopt;
  bool create_graph = false;
  bool allow_unused = false;       // an input without influence has an undefined gradient instead of being an error
  bool materialize_grads = false;  // ... or zeros
};
/// The gradients of the sum of `outputs` by `inputs`, which may be results as well as leaves; `grad` of no leaf changes.
RESILIN_API std::vector<Tensor> gradients(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                                          const GradientOptions& options = {});
/// The same from and to edges of a history: the tensors themselves need not be there any more.
RESILIN_API std::vector<Tensor> edge_gradients(std::span<const GradientEdge> outputs, std::span<const GradientEdge> inputs,
                                               const GradientOptions& options = {});
RESILIN_API std::vector<Tensor> gradients(const Tensor& output, std::initializer_list<Tensor> inputs, const GradientOptions& options = {});

}  // namespace resilin
