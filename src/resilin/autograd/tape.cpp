// src/resilin/autograd/tape.cpp -- Internal: the nodes of a history, the edges between them, and what autograd attaches to a tensor.
#include "resilin/autograd/tape.h"

#include <limits>

#include "resilin/autograd/accumulate.h"
#include "resilin/autograd/view.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/trace.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/view/shape.h"
#include "resilin/tensor/thread_cache.h"

namespace resilin::tape {
namespace {

[[gnu::tls_model("initial-exec")]] thread_local constinit std::vector<Node*>* ended = nullptr;  // while a node is being taken apart
[[gnu::tls_model("initial-exec")]] thread_local constinit std::uint64_t sequence_of_next = 0;

/// Room for the nodes that are made most.
struct NodeMemory {
  alignas(std::max_align_t) std::byte bytes[320];
};

bool expands_to(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  const std::size_t added = to.size() - from.size();
  for (std::size_t a = 0; a < from.size(); ++a) {
    if (!(from[a] == 1) && !(from[a] == to[added + a])) return false;
  }
  return true;
}

Tensor sum_to(const Tensor& grad, const Shape& shape) {
  const i64 added = grad.ndim() - static_cast<i64>(shape.size());
  SmallVector<i64, 5> axes;
  for (i64 a = 0; a < grad.ndim(); ++a) {
    if (a < added || (shape[static_cast<std::size_t>(a - added)] == 1 && !(grad.size(a) == 1))) axes.push_back(a);
  }
  const Tensor summed = axes.empty() ? grad : sum(grad, {axes, true});
  return added > 0 ? reshape(summed, shape) : summed;
}

}  // namespace

void* Node::operator new(std::size_t size_bytes) {
  return size_bytes <= sizeof(NodeMemory) ? take_body<NodeMemory>(&ThreadCache::grad_nodes) : ::operator new(size_bytes);
}
void Node::operator delete(void* memory, std::size_t size_bytes) noexcept {
  size_bytes <= sizeof(NodeMemory) ? give_body(memory, &ThreadCache::grad_nodes) : ::operator delete(memory);
}

void Node::destroy(Node* node) noexcept {
  if (ended != nullptr) {
    ended->push_back(node);
    return;
  }
  std::vector<Node*> pending;
  ended = &pending;
  delete node;
  while (!pending.empty()) {
    Node* const next = pending.back();
    pending.pop_back();
    delete next;
  }
  ended = nullptr;
}

std::shared_ptr<HookList<TensorHook>> Node::tensor_hooks(int output) const {
  const std::size_t at = static_cast<std::size_t>(output);
  return hooks != nullptr && at < hooks->tensor.size() ? hooks->tensor[at] : nullptr;
}

NodeHooks& Node::need_hooks() {
  if (hooks == nullptr) {
    hooks = std::make_unique<NodeHooks>();
    hooks->tensor.resize(outputs.size());
    hooks->retained.resize(outputs.size());
  }
  return *hooks;
}

std::uint64_t next_sequence() { return sequence_of_next++; }

GradState::GradState() = default;
GradState::~GradState() = default;
void* GradState::operator new(std::size_t) { return take_body<GradState>(&ThreadCache::grad_states); }
void GradState::operator delete(void* memory) noexcept { give_body(memory, &ThreadCache::grad_states); }

GradState& need_state(const Tensor& x) {
  TensorBody& body = x.body();
  if (body.grad == nullptr) body.grad = std::make_unique<GradState>();
  return static_cast<GradState&>(*body.grad);
}

LeafState& need_leaf(const Tensor& x) {
  GradState& state = need_state(x);
  if (state.leaf == nullptr) state.leaf = std::make_unique<LeafState>();
  return *state.leaf;
}

void require_grad(const Tensor& x) {
  need_leaf(x);  // now: later, several threads may ask for it
  need_state(x).is_required = true;
}

bool has_edge(const Tensor& x) {
  GradState* const state = state_of(x);
  if (state == nullptr) return false;
  if (state->view != nullptr) refresh_view(*state);
  return state->edge.defined() || state->is_required;
}

Edge edge_of(const Tensor& x) {
  if (!has_edge(x)) return {};
  const GradState* const state = state_of(x);
  if (state->edge.defined()) return state->edge;
  return {accumulator_of(x), 0};
}

void set_history(const Tensor& x, Edge edge) {
  GradState& state = need_state(x);
  if (state.retained != nullptr && state.edge.defined() && state.edge.node->hooks != nullptr) {
    state.edge.node->hooks->retained[static_cast<std::size_t>(state.edge.output)].reset();
  }
  state.edge = std::move(edge);
  state.is_required = false;
  if (state.retained != nullptr) state.edge.node->need_hooks().retained[static_cast<std::size_t>(state.edge.output)] = state.retained;
}

Tensor bare(const Tensor& x) {
  if (x.is_traced()) {
    Tracer* const tracer = active_tracer();
    if (tracer == nullptr) throw ArgumentError("detach: a traced tensor is used outside its trace; it holds no data");
    return tracer->tensor(tracer->value(x, "detach"));
  }
  return Tensor::unchecked_view(x.storage(), x.dtype(), x.offset(), x.shape(), x.strides());
}

Tensor with_history(const Tensor& x, const Edge& edge) {
  const Tensor out = bare(x);
  need_state(out).edge = edge;
  return out;
}

Tensor fitted(Tensor grad, const GradType& type, const Node& from, std::size_t input) {
  if (!may_be_equal(grad.shape(), type.shape)) {
    if (!expands_to(type.shape, grad.shape())) {
      throw ShapeError(cat("Function ", from.name(), " returned an invalid gradient at index ", input, " - got ", grad.shape(),
                           " but expected shape compatible with ", type.shape));
    }
    grad = sum_to(grad, type.shape);
  }
  if (!type.takes_any_dtype && grad.dtype() != type.dtype) return cast(grad, type.dtype);
  return grad;
}

std::string backward_name(std::string_view op) {
  std::string name;
  bool starts_word = true;
  for (const char c : op) {
    if (c == '_') {
      starts_word = true;
      continue;
    }
    name += starts_word && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    starts_word = false;
  }
  return name + "Backward0";
}

}  // namespace resilin::tape
