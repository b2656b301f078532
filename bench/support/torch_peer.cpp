// bench/support/torch_peer.cpp -- calls of libtorch, kept apart from our headers.
#include "bench/support/torch_peer.h"

#ifdef RESILIN_BENCH_TORCH
#include <torch/torch.h>
#include <torch/version.h>
#endif

namespace resilin::bench {

#ifdef RESILIN_BENCH_TORCH
std::function<void()> torch_call(const std::string& name, std::int64_t rows, std::int64_t columns, int threads) {
  const auto prepare = [threads] {
    if (at::get_num_threads() != threads) at::set_num_threads(threads);
  };
  const at::Tensor x = rows == 0 ? torch::randn({columns}) : torch::randn({rows, columns});
  const at::Tensor y = torch::randn_like(x);
  if (name == "add")
    return [=] {
      prepare();
      at::Tensor z = x + y;
    };
  if (name == "softmax")
    return [=] {
      prepare();
      at::Tensor z = at::softmax(x, -1);
    };
  if (name == "layer_norm") {
    const at::Tensor weight = torch::randn({columns});
    const at::Tensor bias = torch::randn({columns});
    return [=] {
      prepare();
      at::Tensor z = at::layer_norm(x, {columns}, weight, bias);
    };
  }
  if (name == "gelu_tanh")
    return [=] {
      prepare();
      at::Tensor z = at::gelu(x, "tanh");
    };
  return {};
}
std::string torch_name() { return "libtorch " TORCH_VERSION; }
#else
std::function<void()> torch_call(const std::string&, std::int64_t, std::int64_t, int) { return {}; }
std::string torch_name() { return "libtorch (not installed)"; }
#endif

}  // namespace resilin::bench
