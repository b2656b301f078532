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
  if (name == "add_grad") {
    const at::Tensor leaf = torch::randn({columns}, torch::requires_grad());
    return [=] {
      prepare();
      at::Tensor z = leaf + y;
    };
  }
  if (name == "ten_adds") {
    at::Tensor leaf = torch::randn({columns}, torch::requires_grad());
    return [=]() mutable {
      prepare();
      at::Tensor z = leaf;
      for (int i = 0; i < 10; ++i) z = z + y;
      z.sum().backward();
      leaf.mutable_grad() = at::Tensor();
    };
  }
  if (name == "mlp_step") {
    torch::nn::Sequential model(torch::nn::Linear(16, 32), torch::nn::ReLU(), torch::nn::Linear(32, 1));
    auto optimizer = std::make_shared<torch::optim::SGD>(model->parameters(), torch::optim::SGDOptions(1e-3));
    const at::Tensor in = torch::rand({8, 16});
    const at::Tensor wanted = torch::rand({8, 1});
    return [=]() mutable {
      prepare();
      const at::Tensor error = model->forward(in) - wanted;
      optimizer->zero_grad();
      (error * error).mean().backward();
      optimizer->step();
    };
  }
  return {};
}
std::string torch_name() { return "libtorch " TORCH_VERSION; }
#else
std::function<void()> torch_call(const std::string&, std::int64_t, std::int64_t, int) { return {}; }
std::string torch_name() { return "libtorch (not installed)"; }
#endif

}  // namespace resilin::bench
