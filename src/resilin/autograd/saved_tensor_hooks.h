// src/resilin/autograd/saved_tensor_hooks.h -- a scope that decides how tensors are kept for backward.
#pragma once

#include <any>
#include <functional>

#include "resilin/tensor/tensor.h"

namespace resilin {

/// While the scope lives, each tensor that this thread saves for backward is kept as what `pack` makes of it; backward asks `unpack` for it.
///
/// Both run without recording. `unpack` gives back a tensor of the same dtype and shape, and may be called more than once or never. The innermost scope
/// decides. A value packed away is not checked for writes; ArgumentError when `pack` itself writes into its input.
class RESILIN_API SavedTensorHooks {
 public:
  using Pack = std::function<std::any(const Tensor&)>;
  using Unpack = std::function<Tensor(const std::any&)>;
  SavedTensorHooks(Pack pack, Unpack unpack);
  ~SavedTensorHooks();
  SavedTensorHooks(const SavedTensorHooks&) = delete;
  SavedTensorHooks& operator=(const SavedTensorHooks&) = delete;

  const Pack& pack() const { return pack_; }
  const Unpack& unpack() const { return unpack_; }

 private:
  Pack pack_;
  Unpack unpack_;
  const SavedTensorHooks* before_;
};

}  // namespace resilin
