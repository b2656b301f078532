// src/resilin/autograd/view.cpp -- Internal: histories of aliases, and of tensors that are written through one.
#include "resilin/autograd/view.h"

#include <algorithm>

#include "resilin/autograd/reads.h"
#include "resilin/dispatch/apply.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/select.h"

namespace resilin::tape {
namespace {

using Links = std::shared_ptr<const ViewLink>;

// From the base to the alias.
std::vector<const ViewLink*> in_order(const Links& links) {
  std::vector<const ViewLink*> order;
  for (const ViewLink* link = links.get(); link != nullptr; link = link->before.get()) order.push_back(link);
  std::reverse(order.begin(), order.end());
  return order;
}

// The alias's part of a tensor that is shaped like the base.
Tensor part_of(const Links& links, Tensor x) {
  for (const ViewLink* link : in_order(links)) x = apply_one(*link->op, std::vector<Input>{x}, link->attrs.ref());
  return x;
}

// The alias's gradient as a gradient of the base.
Tensor to_base(const Links& links, Tensor grad) {
  for (const ViewLink* link = links.get(); link != nullptr; link = link->before.get()) {
    const Tensor inputs[] = {absent(link->input)};
    const Tensor outputs[] = {absent(link->output)};
    const Tensor grads[] = {grad};
    grad = link->op->vjp({.inputs = inputs, .outputs = outputs, .grads = grads, .attrs = link->attrs.ref()})[0];
  }
  return grad;
}

class ViewNode final : public Node {
 public:
  ViewNode(Edge base, Links links) : links_(std::move(links)) {
    edges.push_back(std::move(base));
    outputs = {&links_->output, 1};
    sequence = next_sequence();
  }
  std::string name() const override { return "ViewBackward0"; }
  Gradients run(std::span<Tensor> grads) override { return {to_base(links_, grads[0])}; }

 private:
  Links links_;
};

// Inputs: the base as it was, and what was written through the alias.
class CopySlices final : public Node {
 public:
  CopySlices(Edge base, Edge written, Links links, GradType type) : links_(std::move(links)), type_(std::move(type)) {
    edges.push_back(std::move(base));
    edges.push_back(std::move(written));
    outputs = {&type_, 1};
    sequence = next_sequence();
  }
  std::string name() const override { return "CopySlices"; }
  Gradients run(std::span<Tensor> grads) override {
    Gradients result(2);
    const Tensor& grad = grads[0];
    if (edges[0].defined()) {
      const Tensor is_written = ne(to_base(links_, ones(links_->output.shape, links_->output.dtype)), 0);
      result[0] = where(is_written, 0.0, grad);
    }
    if (edges[1].defined()) result[1] = part_of(links_, grad);
    return result;
  }

 private:
  Links links_;
  GradType type_;
};

}  // namespace

ViewLink::~ViewLink() {
  // A long chain is taken apart in a loop.
  while (before != nullptr && before.use_count() == 1) before = std::exchange(const_cast<ViewLink&>(*before).before, nullptr);
}

void note_view(const Tensor& alias, const Tensor& x, const ir::OpDef& op, ir::AttrsRef attrs) {
  const GradState& from = need_state(x);
  const std::shared_ptr<ViewLink> link = std::make_shared<ViewLink>();
  link->op = &op;
  link->attrs = op.attrs == nullptr ? ir::Attrs() : ir::Attrs(attrs);
  link->input = {x.dtype(), x.shape()};
  link->output = {alias.dtype(), alias.shape()};
  if (from.view != nullptr) link->before = from.view->links;
  const Tensor& base = from.view != nullptr ? from.view->base : x;
  GradState& state = need_state(alias);
  state.view = std::make_unique<ViewOf>(base, link, need_state(base).rebases);
  state.refuses_writes = from.refuses_writes;
}

void refresh_view(GradState& state) {
  const std::lock_guard<std::mutex> lock(state.view->mutex);
  const i64 rebases = need_state(state.view->base).rebases;
  if (state.view->rebases == rebases) return;
  state.edge = Edge(make_ref<ViewNode>(edge_of(state.view->base), state.view->links), 0);
  state.view->rebases = rebases;
}

void rebase(const Tensor& alias, Edge written) {
  const ViewOf& view = *need_state(alias).view;
  const Tensor base = view.base;
  GradType type{base.dtype(), base.shape()};
  set_history(base, Edge(make_ref<CopySlices>(edge_of(base), std::move(written), view.links, std::move(type)), 0));
  ++need_state(base).rebases;
  set_history(alias, Edge(make_ref<ViewNode>(edge_of(base), view.links), 0));
  need_state(alias).view->rebases = need_state(base).rebases;
}

}  // namespace resilin::tape
