// src/resilin/autograd/saved_tensor.cpp -- Internal: a tensor kept for backward, with the version it had.
#include "resilin/autograd/saved_tensor.h"

#include "resilin/dispatch/grad_mode.h"

namespace resilin {
namespace {

[[gnu::tls_model("initial-exec")]] thread_local constinit const SavedTensorHooks* innermost = nullptr;

}  // namespace

SavedTensorHooks::SavedTensorHooks(Pack pack, Unpack unpack)
    : pack_(std::move(pack)), unpack_(std::move(unpack)), before_(std::exchange(innermost, this)) {}
SavedTensorHooks::~SavedTensorHooks() { innermost = before_; }

namespace tape {

SavedTensor::SavedTensor(const Tensor& x, Edge edge, int output) : edge_(std::move(edge)), version_(x.version()), output_(output) {
  value_ = bare(x);
  const SavedTensorHooks* const hooks = innermost;
  if (hooks == nullptr) return;
  const NoGrad no_grad;
  packed_ = std::make_unique<Packed>(Packed{hooks->pack()(value_), hooks->unpack()});
  if (x.version() != version_) {
    throw ArgumentError(
        "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can not be modified by in-place "
        "operations as this can lead to unexpected side-effects. Please open an issue if you need to perform in-place operations on the "
        "input to a pack hook.");
  }
  value_ = Tensor();
}

void SavedTensor::release() {
  value_ = Tensor();
  packed_.reset();
}

void SavedTensor::check_version(const Node& owner) const {
  if (value_.version() == version_) return;
  const Node* const maker = output_ >= 0 ? &owner : edge_.node.get();
  const int number = output_ >= 0 ? output_ : edge_.output;
  const bool is_made = maker != nullptr && !maker->edges.empty();
  throw ArgumentError(cat("one of the variables needed for gradient computation has been modified by an inplace operation: [",
                          value_.dtype(), " ", value_.shape(), "]",
                          is_made ? cat(", which is output ", number, " of ", maker->name(), ",") : std::string(), " is at version ",
                          value_.version(), "; expected version ", version_, " instead"));
}

Tensor SavedTensor::unpack(Node& owner) const {
  Tensor value = value_;
  if (packed_ != nullptr) {
    const NoGrad no_grad;
    value = packed_->unpack(packed_->value);
  } else {
    check_version(owner);
  }
  if (!is_grad_enabled()) return value;
  if (output_ >= 0) return with_history(value, Edge(NodePtr(&owner), output_));
  return edge_.defined() ? with_history(value, edge_) : value;
}

const SavedTensorHooks* exchange_saved_tensor_hooks(const SavedTensorHooks* hooks) { return std::exchange(innermost, hooks); }

void refuse_released() {
  throw ArgumentError(
      "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved "
      "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
      "backward through the graph a second time or if you need to access saved tensors after calling backward.");
}

}  // namespace tape
}  // namespace resilin
