// src/resilin/autograd/node.cpp -- GradNode: a handle on one recorded step of a history.
#include "resilin/autograd/node.h"

#include "resilin/autograd/tape.h"

namespace resilin {
namespace {

[[gnu::tls_model("initial-exec")]] thread_local constinit const NodeCreationHook* innermost = nullptr;

tape::Node& checked(tape::Node* node) {
  if (node == nullptr) throw ArgumentError("grad_fn: the node is undefined: a leaf has no grad_fn");
  return *node;
}

}  // namespace

GradNode::GradNode(tape::Node* node) : node_(node) {
  if (node_ != nullptr) node_->retain();
}
GradNode::GradNode(const GradNode& other) : GradNode(other.node_) {}
GradNode::~GradNode() { const tape::NodePtr ended = tape::NodePtr::adopt(node_); }

std::string GradNode::name() const { return checked(node_).name(); }
std::uint64_t GradNode::sequence() const { return checked(node_).sequence; }
std::map<std::string, std::any>& GradNode::metadata() const { return checked(node_).need_hooks().metadata; }

std::vector<std::pair<GradNode, int>> GradNode::next_functions() const {
  std::vector<std::pair<GradNode, int>> next;
  for (const tape::Edge& edge : checked(node_).edges) next.emplace_back(GradNode(edge.node.get()), edge.output);
  return next;
}

HookHandle GradNode::register_prehook(std::function<void(std::vector<Tensor>&)> hook) const {
  return add_hook(checked(node_).need_hooks().before, std::move(hook));
}
HookHandle GradNode::register_hook(std::function<void(std::vector<Tensor>&, std::span<const Tensor>)> hook) const {
  return add_hook(checked(node_).need_hooks().after, std::move(hook));
}

GradNode grad_fn(const Tensor& x) {
  const tape::GradState* const state = tape::state_of(x);
  if (state == nullptr || (state->is_required && !state->edge.defined())) return {};
  return GradNode(tape::edge_of(x).node.get());
}

GradientEdge gradient_edge(const Tensor& x) {
  const tape::Edge edge = tape::edge_of(x);
  if (!edge.defined()) throw ArgumentError("It is not possible to get the gradient edge for a Tensor that does not require gradients");
  return {GradNode(edge.node.get()), edge.output};
}

NodeCreationHook::NodeCreationHook(std::function<void(const GradNode&)> hook)
    : hook_(std::move(hook)), before_(std::exchange(innermost, this)) {}
NodeCreationHook::~NodeCreationHook() { innermost = before_; }

namespace tape {

const NodeCreationHook* exchange_node_creation_hook(const NodeCreationHook* hook) { return std::exchange(innermost, hook); }

void announce(Node& node) {
  if (innermost == nullptr) return;
  std::vector<const NodeCreationHook*> scopes;
  for (const NodeCreationHook* scope = innermost; scope != nullptr; scope = scope->before_) scopes.push_back(scope);
  struct Restore {
    const NodeCreationHook* before = std::exchange(innermost, nullptr);
    ~Restore() { innermost = before; }
  } const restore;
  for (std::size_t i = scopes.size(); i-- > 0;) scopes[i]->hook_(GradNode(&node));
}

}  // namespace tape
}  // namespace resilin
