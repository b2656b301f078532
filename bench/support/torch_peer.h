// bench/support/torch_peer.h -- calls of libtorch, kept apart from our headers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace resilin::bench {

/// A call of libtorch on its own random f32 tensors of this shape, with fresh results, on `threads` threads.
/// Names: add, softmax, layer_norm, gelu_tanh; add_grad, ten_adds (forward and backward), mlp_step. Without libtorch the function is empty.
std::function<void()> torch_call(const std::string& name, std::int64_t rows, std::int64_t columns, int threads);
/// "libtorch 1.13.1", or why there is none.
std::string torch_name();

}  // namespace resilin::bench
