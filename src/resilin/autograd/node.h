// src/resilin/autograd/node.h -- GradNode: a handle on one recorded step of a history.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "resilin/base/hook_list.h"
#include "resilin/tensor/tensor.h"

namespace resilin {

class NodeCreationHook;

namespace tape {
class Node;
/// Internal: calls the hooks of NodeCreationHook; the last step of making a node.
void announce(Node& node);
/// Internal: puts another hook, or none, in place of the innermost one of this thread, which it gives back.
const NodeCreationHook* exchange_node_creation_hook(const NodeCreationHook* hook);
}  // namespace tape

/// A recorded step, or nothing. Copies speak of the same step and keep it alive.
class RESILIN_API GradNode {
 public:
  GradNode() = default;
  explicit GradNode(tape::Node* node);
  GradNode(const GradNode& other);
  GradNode(GradNode&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  GradNode& operator=(GradNode other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~GradNode();
  bool defined() const { return node_ != nullptr; }
  /// "AddBackward0"; "AccumulateGrad" at a leaf; "CopySlices" where a tensor was written through a view.
  std::string name() const;
  /// Later steps of a thread have greater numbers; backward runs the greatest first.
  std::uint64_t sequence() const;
  /// Per input of the step: where its gradient goes, and as which output of that; undefined for none.
  std::vector<std::pair<GradNode, int>> next_functions() const;
  /// Room for notes of the user.
  std::map<std::string, std::any>& metadata() const;
  /// Before the step: may replace the gradients of its outputs.
  HookHandle register_prehook(std::function<void(std::vector<Tensor>& grad_outputs)> hook) const;
  /// After the step: may replace the gradients of its inputs.
  HookHandle register_hook(std::function<void(std::vector<Tensor>& grad_inputs, std::span<const Tensor> grad_outputs)> hook) const;
  friend bool operator==(const GradNode&, const GradNode&) = default;
  /// Internal.
  tape::Node* step() const { return node_; }

 private:
  tape::Node* node_ = nullptr;
};

/// The step that made x; undefined for a leaf.
RESILIN_API GradNode grad_fn(const Tensor& x);

/// Where the gradient of a tensor goes: an output of a step. Keeps the history alive, but not the elements of the tensor.
struct GradientEdge {
  GradNode node;  // "AccumulateGrad" of a leaf
  int output = 0;
};
/// ArgumentError when x requires no gradient.
RESILIN_API GradientEdge gradient_edge(const Tensor& x);

/// While the scope lives, calls `hook` once for each step that this thread records, when the step is complete. Outer scopes come first; steps that a hook
/// itself records are not announced.
class RESILIN_API NodeCreationHook {
 public:
  explicit NodeCreationHook(std::function<void(const GradNode&)> hook);
  ~NodeCreationHook();
  NodeCreationHook(const NodeCreationHook&) = delete;
  NodeCreationHook& operator=(const NodeCreationHook&) = delete;

 private:
  friend void tape::announce(tape::Node& node);
  std::function<void(const GradNode&)> hook_;
  const NodeCreationHook* before_;
};

}  // namespace resilin
