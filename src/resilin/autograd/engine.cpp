// src/resilin/autograd/engine.cpp -- Internal: runs the nodes of a history backwards.
#include "resilin/autograd/engine.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "resilin/autograd/anomaly.h"
#include "resilin/base/hash.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/reduce/reduce.h"

namespace resilin::tape {
namespace {

/// A node that this backward reaches.
struct Reached {
  Node* node;
  std::size_t first_grad;    // of one per output
  std::size_t first_target;  // of one per edge
  int waiting = 0;           // edges that have brought nothing yet
  bool runs = false;
  bool is_captured = false;
};

/// Places of nodes in a list, by open addressing.
class PlaceTable {
 public:
  PlaceTable() : entries_(64) {}
  /// The place of the node, which is `next` if it is new.
  std::size_t find_or_add(Node* node, std::size_t next) {
    if (2 * next >= entries_.size()) grow();
    Entry& entry = entry_of(node);
    if (entry.node == nullptr) entry = {node, next};
    return entry.place;
  }
  /// Of a node that is there.
  std::size_t at(Node* node) { return entry_of(node).place; }

 private:
  struct Entry {
    Node* node = nullptr;
    std::size_t place = 0;
  };
  Entry& entry_of(Node* node) {
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = hash_mix(0, reinterpret_cast<std::uintptr_t>(node)) & mask;
    while (entries_[at].node != nullptr && entries_[at].node != node) at = (at + 1) & mask;
    return entries_[at];
  }
  void grow() {
    const std::vector<Entry> old = std::exchange(entries_, std::vector<Entry>(entries_.size() * 2));
    for (const Entry& entry : old) {
      if (entry.node != nullptr) entry_of(entry.node) = entry;
    }
  }
  std::vector<Entry> entries_;
};

struct Ready {
  std::uint64_t sequence;
  std::size_t place;  // in the order of discovery
};
struct RunsLater {
  bool operator()(const Ready& a, const Ready& b) const { return a.sequence != b.sequence ? a.sequence < b.sequence : a.place > b.place; }
};

[[gnu::tls_model("initial-exec")]] thread_local constinit RunningBackward* running = nullptr;

class Engine final : public RunningBackward {
 public:
  explicit Engine(const BackwardCall& call) : call_(call), result_(call.captures.size()), outer_(std::exchange(running, this)) {}
  ~Engine() { running = outer_; }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  void visit(const std::function<void(const Node&)>& visit) const override {
    for (const Reached& r : reached_) {
      if (r.runs || r.is_captured) visit(*r.node);
    }
  }
  Gradients run() {
    discover();
    for (std::size_t r = 0; r < call_.roots.size(); ++r) {
      const Edge& root = call_.roots[r];
      add_to(reached_[places_.at(root.node.get())].first_grad + static_cast<std::size_t>(root.output), call_.grads[r]);
    }
    for (const Edge& root : call_.roots) {
      const std::size_t place = places_.at(root.node.get());
      if (reached_[place].waiting == 0) make_ready(place);
    }
    while (!ready_.empty()) {
      const std::size_t place = ready_.top().place;
      ready_.pop();
      step(reached_[place]);
    }
    return std::move(result_);
  }

 private:
  struct Frame {
    std::size_t place;
    std::size_t next;  // edge
  };

  // Depth first without recursion: counts the edges into every node; on the way back, what leads to a wanted gradient runs.
  void discover() {
    for (std::size_t c = 0; c < call_.captures.size(); ++c) wanted_.emplace(call_.captures[c].node.get(), c);
    reached_.reserve(32);
    grads_.reserve(32);
    targets_.reserve(64);
    stack_.reserve(32);
    for (const Edge& root : call_.roots) {
      enter(*root.node);
      while (!stack_.empty()) {
        Frame& frame = stack_.back();
        const Reached& r = reached_[frame.place];
        if (frame.next < r.node->edges.size()) {
          const Edge& edge = r.node->edges[frame.next];
          const std::size_t target = r.first_target + frame.next++;
          if (edge.defined()) targets_[target] = enter(*edge.node);
        } else {
          leave(frame.place);
          stack_.pop_back();
        }
      }
    }
    is_own_.resize(grads_.size());
  }

  std::size_t enter(Node& node) {
    const std::size_t place = places_.find_or_add(&node, reached_.size());
    if (place < reached_.size()) return place;
    Reached& r = reached_.emplace_back(Reached{&node, grads_.size(), targets_.size()});
    r.runs = !call_.is_restricted;
    r.is_captured = !wanted_.empty() && wanted_.contains(&node);
    grads_.resize(grads_.size() + node.outputs.size());
    targets_.resize(targets_.size() + node.edges.size());
    stack_.push_back({place, call_.ends_at_captures && r.is_captured ? node.edges.size() : 0});
    return place;
  }

  void leave(std::size_t place) {
    Reached& r = reached_[place];
    const auto& edges = r.node->edges;
    const bool is_end = call_.ends_at_captures && r.is_captured;
    if (call_.is_restricted && !is_end) {
      r.runs = std::any_of(call_.leaves.begin(), call_.leaves.end(), [&](const Edge& leaf) { return leaf.node.get() == r.node; });
      for (std::size_t i = 0; i < edges.size() && !r.runs; ++i) r.runs = edges[i].defined() && is_wanted(target(r, i));
    }
    if (!r.runs) return;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (edges[i].defined()) ++target(r, i).waiting;
    }
  }

  Reached& target(const Reached& r, std::size_t edge) { return reached_[targets_[r.first_target + edge]]; }
  static bool is_wanted(const Reached& r) { return r.runs || r.is_captured; }

  void add_to(std::size_t place, Tensor grad) {
    if (!grad.defined()) return;
    Tensor& sum = grads_[place];
    if (!sum.defined()) {
      sum = std::move(grad);
    } else if (is_own_[place] && !is_grad_enabled() && !sum.is_traced() && sum.dtype() == grad.dtype()) {
      add_(sum, grad);
    } else {
      sum = add(sum, grad);
      is_own_[place] = true;  // the memory was made by a sum here: the next one goes in place
    }
  }

  void make_ready(std::size_t place) {
    Reached& r = reached_[place];
    if (r.waiting < 0) return;
    r.waiting = -1;  // once
    if (is_wanted(r)) ready_.push({r.node->sequence, place});
  }

  void step(const Reached& r) {
    Node& node = *r.node;
    const std::span<Tensor> grads(grads_.data() + r.first_grad, node.outputs.size());
    run_tensor_hooks(node, grads);
    if (r.is_captured) {
      const auto range = wanted_.equal_range(&node);
      for (auto at = range.first; at != range.second; ++at)
        result_[at->second] = grads[static_cast<std::size_t>(call_.captures[at->second].output)];
    }
    Gradients results;
    if (r.runs) results = call_node(node, grads);
    for (Tensor& grad : grads) grad = Tensor();
    if (r.runs) pass_on(r, results);
  }

  void pass_on(const Reached& r, Gradients& results) {
    const auto& edges = r.node->edges;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (!edges[i].defined()) continue;
      Reached& next = target(r, i);
      if (i < results.size() && results[i].defined()) {
        const std::size_t output = static_cast<std::size_t>(edges[i].output);
        add_to(next.first_grad + output, fitted(std::exchange(results[i], Tensor()), next.node->outputs[output], *r.node, i));
      }
      if (--next.waiting == 0) make_ready(targets_[r.first_target + i]);
    }
  }

  static void run_tensor_hooks(Node& node, std::span<Tensor> grads) {
    for (std::size_t o = 0; o < grads.size(); ++o) {
      if (!grads[o].defined()) continue;
      if (const std::shared_ptr<HookList<TensorHook>> list = node.tensor_hooks(static_cast<int>(o))) {
        for (const auto& [id, hook] : list->hooks()) {
          Tensor replaced = hook(grads[o]);
          if (replaced.defined()) grads[o] = fitted(std::move(replaced), node.outputs[o], node, o);
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

  Gradients call_node(Node& node, std::span<Tensor> grads) {
    if (node.hooks != nullptr && node.hooks->before != nullptr) {
      Gradients seen(grads.begin(), grads.end());
      for (const auto& [id, hook] : node.hooks->before->hooks()) hook(seen);
      seen.resize(grads.size());
      std::move(seen.begin(), seen.end(), grads.begin());
    }
    const bool has_after = node.hooks != nullptr && node.hooks->after != nullptr;
    const Gradients arrived = has_after ? Gradients(grads.begin(), grads.end()) : Gradients();
    Gradients results;
    if (std::any_of(grads.begin(), grads.end(), [](const Tensor& grad) { return grad.defined(); })) {
      results = node.run(grads);
      if (is_anomaly_enabled()) check_nan(node, results);
    }
    if (has_after) {
      results.resize(node.edges.size());
      for (const auto& [id, hook] : node.hooks->after->hooks()) hook(results, arrived);
    }
    if (!call_.keeps_saved) node.release_saved();
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
  RunningBackward* outer_;
  std::vector<Reached> reached_;      // in the order of discovery
  PlaceTable places_;                 // of nodes in it
  std::vector<Tensor> grads_;         // on their way into the nodes
  std::vector<char> is_own_;          // per gradient
  std::vector<std::size_t> targets_;  // per edge: the place of its node
  std::vector<Frame> stack_;
  std::unordered_multimap<Node*, std::size_t> wanted_;  // captures of a node
  std::priority_queue<Ready, std::vector<Ready>, RunsLater> ready_;
};

}  // namespace

RunningBackward* running_backward() { return running; }
const std::shared_ptr<const int>& RunningBackward::token() {
  if (token_ == nullptr) token_ = std::make_shared<const int>();
  return token_;
}

Gradients run_backward(const BackwardCall& call) { return Engine(call).run(); }

}  // namespace resilin::tape
