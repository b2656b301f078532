// src/resilin/autograd/saved_tensor.h -- Internal: a tensor kept for backward, with the version it had.
#pragma once

#include "resilin/autograd/saved_tensor_hooks.h"
#include "resilin/autograd/tape.h"

namespace resilin::tape {

/// Holds the elements apart from the tensor's own handle, so that a node that saves its output is in no cycle.
class SavedTensor {
 public:
  SavedTensor() = default;  // holds nothing
  /// An input of the node, or any other tensor.
  explicit SavedTensor(const Tensor& x) : SavedTensor(x, edge_of(x), -1) {}
  /// Output `number` of the node that keeps it.
  static SavedTensor output(const Tensor& y, int number) { return SavedTensor(y, Edge(), number); }

  bool is_held() const { return value_.defined() || packed_ != nullptr; }
  void release();
  /// The tensor, with its history while grad mode is on. ArgumentError with torch's words when its elements were written since.
  Tensor unpack(Node& owner) const;

 private:
  struct Packed {
    std::any value;
    SavedTensorHooks::Unpack unpack;
  };
  SavedTensor(const Tensor& x, Edge edge, int output);
  void check_version(const Node& owner) const;

  Tensor value_;
  Edge edge_;
  i64 version_ = 0;
  int output_ = -1;  // of the owner
  std::unique_ptr<Packed> packed_;
};

/// Puts other hooks, or none, in place of the innermost ones of this thread, which it gives back.
const SavedTensorHooks* exchange_saved_tensor_hooks(const SavedTensorHooks* hooks);

/// Throws torch's sentence about a second backward.
[[noreturn]] void refuse_released();

}  // namespace resilin::tape
