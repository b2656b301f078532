// src/resilin/autograd/tape.cpp -- Internal: the nodes of a history, the edges between them, and what autograd attaches to a tensor.
#include "resilin/autograd/tape.h"

#include <limits>

#include "resilin/autograd/accumulate.h"
#include "resilin/autograd/view.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/trace.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/view/shape.h"

namespace resilin::tape {
namespace {

thread_local std::vector<NodePtr>* dropped = nullptr;  // while a node is being taken apart

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

void drop(NodePtr node) noexcept {
  if (node.use_count() > 1) return;
  if (dropped != nullptr) {
    dropped->push_back(std::move(node));
    return;
  }
  std::vector<NodePtr> pending;
  dropped = &pending;
  node.reset();
  while (!pending.empty()) {
    const NodePtr next = std::move(pending.back());
    pending.pop_back();
  }
  dropped = nullptr;
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

std::uint64_t next_sequence() {
  thread_local std::uint64_t next = 0;
  return next++;
}

GradState::~GradState() = default;

GradState& need_state(const Tensor& x) {
  TensorBody& body = x.body();
  if (body.grad == nullptr) body.grad = std::make_unique<GradState>();
  return static_cast<GradState&>(*body.grad);
}

Edge edge_of(const Tensor& x) {
  GradState* const state = state_of(x);
  if (state == nullptr) return {};
  if (state->view != nullptr) refresh_view(*state);
  if (state->edge.defined()) return state->edge;
  return state->is_required ? Edge(accumulator_of(x), 0) : Edge();
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
