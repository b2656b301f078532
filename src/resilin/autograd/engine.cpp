// src/resilin/autograd/engine.cpp -- Internal: runs the nodes of a history backwards.
#include "resilin/autograd/engine.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "resilin/autograd/anomaly.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/reduce/reduce.h"

namespace resilin::tape {
namespace {

/// One gradient on its way into a node.
struct Slot {
  Tensor sum;
  bool is_own = false;  // the memory was made by a sum here: the next one goes in place
};

/// A node that this backward reaches.
struct Reached {
  std::vector<Slot> grads;
  std::vector<std::pair<int, std::size_t>> captures;  // output of the node, place in the result
  std::uint64_t order = 0;                            // of discovery
  int waiting = 0;                                    // edges that have brought nothing yet
  bool runs = false;
};

struct Ready {
  Node* node;
  std::uint64_t order;
};
struct RunsLater {
  bool operator()(const Ready& a, const Ready& b) const {
    return a.node->sequence != b.node->sequence ? a.node->sequence < b.node->sequence : a.order > b.order;
  }
};

class Engine {
 public:
  explicit Engine(const BackwardCall& call) : call_(call), result_(call.captures.size()) {}
  Gradients run() {
    discover();
    for (std::size_t r = 0; r < call_.roots.size(); ++r) {
      const Edge& root = call_.roots[r];
      Tensor grad = call_.grads[r];
      add_to(reached_.at(root.node.get()).grads[static_cast<std::size_t>(root.output)], std::move(grad));
    }
    for (const Edge& root : call_.roots) {
      Reached& r = reached_.at(root.node.get());
      if (r.waiting == 0) make_ready(*root.node, r);
    }
    while (!ready_.empty()) {
      Node& node = *ready_.top().node;
      ready_.pop();
      step(node, reached_.at(&node));
    }
    return std::move(result_);
  }

 private:
  struct Frame {
    Node* node;
    std::size_t next = 0;
  };

  // Depth first without recursion: counts the edges into every node; on the way back, what leads to a wanted gradient runs.
  void discover() {
    std::vector<Frame> stack;
    const auto enter = [&](Node& node) {
      const auto [at, is_new] = reached_.try_emplace(&node);
      if (!is_new) return;
      at->second.order = reached_.size();
      at->second.grads.resize(node.outputs.size());
      at->second.runs = !call_.is_restricted;
      stack.push_back({&node, ends_at(node) ? node.edges.size() : 0});
    };
    for (std::size_t c = 0; c < call_.captures.size(); ++c) wanted_.emplace(call_.captures[c].node.get(), c);
    for (const Edge& root : call_.roots) {
      enter(*root.node);
      while (!stack.empty()) {
        Frame& frame = stack.back();
        if (frame.next < frame.node->edges.size()) {
          const Edge& edge = frame.node->edges[frame.next++];
          if (edge.defined()) enter(*edge.node);
        } else {
          leave(*frame.node);
          stack.pop_back();
        }
      }
    }
  }

  void leave(Node& node) {
    Reached& r = reached_.at(&node);
    const auto range = wanted_.equal_range(&node);
    for (auto at = range.first; at != range.second; ++at) r.captures.emplace_back(call_.captures[at->second].output, at->second);
    if (call_.is_restricted && !ends_at(node)) {
      r.runs = std::any_of(call_.leaves.begin(), call_.leaves.end(), [&](const Edge& leaf) { return leaf.node.get() == &node; });
      for (const Edge& edge : node.edges) r.runs = r.runs || (edge.defined() && is_wanted(*edge.node));
    }
    if (!r.runs) return;
    for (const Edge& edge : node.edges) {
      if (edge.defined()) ++reached_.at(edge.node.get()).waiting;
    }
  }

  bool ends_at(Node& node) const { return call_.ends_at_captures && wanted_.contains(&node); }

  bool is_wanted(Node& node) const {
    const Reached& r = reached_.at(&node);
    return r.runs || !r.captures.empty();
  }

  void add_to(Slot& slot, Tensor grad) {
    if (!grad.defined()) return;
    if (!slot.sum.defined()) {
      slot.sum = std::move(grad);
    } else if (slot.is_own && !is_grad_enabled() && !slot.sum.is_traced()) {
      add_(slot.sum, grad);
    } else {
      slot.sum = add(slot.sum, grad);
      slot.is_own = true;
    }
  }

  void make_ready(Node& node, Reached& r) {
    if (r.waiting < 0) return;
    r.waiting = -1;  // once
    if (r.runs || !r.captures.empty()) ready_.push({&node, r.order});
  }

  void step(Node& node, Reached& r) {
    const std::shared_ptr<Node> alive = node.shared_from_this();
    Gradients grads;
    for (Slot& slot : r.grads) grads.push_back(std::move(slot.sum));
    r.grads = {};
    run_tensor_hooks(node, grads);
    for (const auto& [output, place] : r.captures) result_[place] = grads[static_cast<std::size_t>(output)];
    if (!r.runs) return;
    Gradients results = call_node(node, grads);
    for (std::size_t i = 0; i < node.edges.size(); ++i) {
      const Edge& edge = node.edges[i];
      if (!edge.defined()) continue;
      Reached& next = reached_.at(edge.node.get());
      if (i < results.size() && results[i].defined()) {
        const std::size_t output = static_cast<std::size_t>(edge.output);
        add_to(next.grads[output], fitted(std::exchange(results[i], Tensor()), edge.node->outputs[output], node, i));
      }
      if (--next.waiting == 0) make_ready(*edge.node, next);
    }
  }

  void run_tensor_hooks(Node& node, Gradients& grads) {
    for (std::size_t o = 0; o < grads.size(); ++o) {
      if (!grads[o].defined()) continue;
      if (const std::shared_ptr<HookList<TensorHook>> list = node.tensor_hooks(static_cast<int>(o))) {
        for (const auto& [id, hook] : list->hooks()) {
          Tensor replaced = hook(grads[o]);
          if (replaced.defined()) grads[o] = fitted(replaced, node.outputs[o], node, o);
        }
      }
      if (node.hooks == nullptr) continue;
      if (const std::shared_ptr<Tensor> retained = node.hooks->retained[o].lock()) {
        if (retained->defined()) {
          *retained = add(*retained, grads[o]);
        } else {
          *retained = grads[o];
        }
      }
    }
  }

  Gradients call_node(Node& node, Gradients& grads) {
    if (node.hooks != nullptr && node.hooks->before != nullptr) {
      for (const auto& [id, hook] : node.hooks->before->hooks()) hook(grads);
    }
    const bool has_after = node.hooks != nullptr && node.hooks->after != nullptr;
    const Gradients arrived = has_after ? grads : Gradients();
    Gradients results(node.edges.size());
    if (std::any_of(grads.begin(), grads.end(), [](const Tensor& grad) { return grad.defined(); })) {
      results = node.run(grads);
      if (is_anomaly_enabled()) check_nan(node, results);
    }
    if (has_after) {
      for (const auto& [id, hook] : node.hooks->after->hooks()) hook(results, arrived);
    }
    if (!call_.keeps_saved) node.release();
    return results;
  }

  static void check_nan(const Node& node, const Gradients& results) {
    const NoGrad no_grad;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i].defined() || results[i].is_traced()) continue;
      if (sum(ne(results[i], results[i])).item<i64>() != 0) {
        throw NumericError(cat("Function '", node.name(), "' returned nan values in its ", i, "th output."));
      }
    }
  }

  const BackwardCall& call_;
  Gradients result_;
  std::unordered_map<Node*, Reached> reached_;
  std::unordered_multimap<Node*, std::size_t> wanted_;  // captures of a node
  std::priority_queue<Ready, std::vector<Ready>, RunsLater> ready_;
};

}  // namespace

Gradients run_backward(const BackwardCall& call) { return Engine(call).run(); }

}  // namespace resilin::tape
