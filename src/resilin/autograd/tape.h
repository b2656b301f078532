// src/resilin/autograd/tape.h -- Internal: the nodes of a history, the edges between them, and what autograd attaches to a tensor.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "resilin/base/counted.h"
#include "resilin/base/hook_list.h"
#include "resilin/base/small_vector.h"
#include "resilin/base/spin_lock.h"
#include "resilin/tensor/tensor.h"

namespace resilin::tape {

class Node;
struct ViewOf;
using NodePtr = Ref<Node>;
using Gradients = std::vector<Tensor>;
using TensorHook = std::function<Tensor(const Tensor&)>;
using BeforeHook = std::function<void(Gradients& grad_outputs)>;
using AfterHook = std::function<void(Gradients& grad_inputs, std::span<const Tensor> grad_outputs)>;

/// Where a gradient goes: output `output` of a node; no node where nothing wants it.
struct Edge {
  NodePtr node;
  int output = 0;
  Edge() = default;
  Edge(NodePtr of, int number) : node(std::move(of)), output(number) {}
  bool defined() const { return node != nullptr; }
};

/// What a gradient must look like.
struct GradType {
  DType dtype = DType::F32;
  bool takes_any_dtype = false;  // it stays of the dtype in which it arrives
  Shape shape = {};
  GradType() = default;
  GradType(DType of, const Shape& sizes) : dtype(of), shape(sizes) {}
};

/// The rarely used parts of a node.
struct NodeHooks {
  std::vector<std::shared_ptr<HookList<TensorHook>>> tensor;  // per output
  std::vector<std::weak_ptr<Tensor>> retained;                // per output: where retain_grad wants its gradient
  std::shared_ptr<HookList<BeforeHook>> before;
  std::shared_ptr<HookList<AfterHook>> after;
  std::map<std::string, std::any> metadata;
};

/// One recorded step. `edges` has one entry per input, `outputs` one per output.
class Node : public Counted {
 public:
  virtual ~Node() = default;
  static void* operator new(std::size_t size_bytes);
  static void operator delete(void* memory, std::size_t size_bytes) noexcept;
  /// Takes a chain of nodes apart in a loop: its length is no depth of the C++ stack.
  static void destroy(Node* node) noexcept;

  virtual std::string name() const = 0;
  /// Gradients of the outputs (undefined where none arrived, though not all) to gradients of the inputs. May take the outputs' gradients away.
  virtual Gradients run(std::span<Tensor> grads) = 0;
  /// Frees what was saved; `run` then says so.
  virtual void release_saved() {}
  virtual std::shared_ptr<HookList<TensorHook>> tensor_hooks(int output) const;
  NodeHooks& need_hooks();

  SmallVector<Edge, 2> edges;
  std::span<const GradType> outputs;  // the derived class has the memory
  std::uint64_t sequence = 0;         // of this thread; a later step is greater
  std::unique_ptr<NodeHooks> hooks;
};

/// The next sequence number of this thread.
std::uint64_t next_sequence();

/// What only a leaf has.
struct LeafState {
  SpinLock accumulator_lock;
  Node* accumulator = nullptr;  // counts no reference: it clears this when it ends
  std::mutex mutex;             // of the gradient
  Tensor grad;
  Tensor grad_memory;  // where the first gradient is written; undefined: anywhere
  std::shared_ptr<HookList<TensorHook>> hooks;
  std::shared_ptr<HookList<std::function<void(const Tensor&)>>> after_accumulate;
};

/// The grad slot of a tensor.
struct GradState final : Extension {
  GradState();
  ~GradState() override;
  static void* operator new(std::size_t size_bytes);
  static void operator delete(void* memory) noexcept;

  bool is_required = false;          // of a leaf
  bool refuses_writes = false;       // it may share memory in a way that is not recorded
  Edge edge;                         // of what was recorded; no node for a leaf
  std::unique_ptr<LeafState> leaf;   // made with the first thing that it keeps
  std::unique_ptr<ViewOf> view;      // of an alias of a tensor with a history
  std::shared_ptr<Tensor> retained;  // of what was recorded, after retain_grad
  i64 rebases = 0;                   // writes that gave this tensor another history; its views ask
};

/// Null when the tensor has none.
inline GradState* state_of(const Tensor& x) { return static_cast<GradState*>(x.body().grad.get()); }
GradState& need_state(const Tensor& x);
LeafState& need_leaf(const Tensor& x);
/// x becomes a leaf that requires a gradient.
void require_grad(const Tensor& x);
/// Whether a gradient goes anywhere from x. A view whose base was written gets the history of its new contents.
bool has_edge(const Tensor& x);
/// Where it goes; undefined when x requires none.
Edge edge_of(const Tensor& x);
/// x becomes output `edge.output` of a node.
void set_history(const Tensor& x, Edge edge);
/// x's elements without its history: another handle on its memory, or on its traced value.
Tensor bare(const Tensor& x);
/// The same with a history.
Tensor with_history(const Tensor& x, const Edge& edge);

/// The gradient summed and cast to the type it must have. ShapeError, naming the node and the input, when it does not fit.
Tensor fitted(Tensor grad, const GradType& type, const Node& from, std::size_t input);
/// "exp" -> "ExpBackward0".
std::string backward_name(std::string_view op);

}  // namespace resilin::tape
