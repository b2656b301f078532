// tests/interop/gpt_test.cpp -- writes what a small GPT computes, for tests/interop/gpt_torch.py to compute again: `make interop`.
#include "resilin/nn/gpt.h"

#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "resilin/autograd/backward.h"
#include "resilin/autograd/history.h"
#include "resilin/io/safetensors.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/loss/cross_entropy.h"
#include "resilin/ops/view/axes.h"
#include "resilin/ops/view/range.h"
#include "resilin/ops/view/shape.h"
#include "resilin/optim/optimizer.h"

using namespace resilin;

namespace {

constexpr i64 kSteps = 20;
constexpr i64 kBatch = 4;
constexpr i64 kLength = 32;

// Bytes with some order in them, so that there is something to learn.
Tensor tokens(i64 seed) {
  std::vector<i64> values;
  for (i64 i = 0; i < kBatch * (kLength + 1); ++i) values.push_back((i * i + 7 * seed + i % 5 * 31) % 256);
  const Dim shape[] = {kBatch, kLength + 1};
  return Tensor::of<i64>(values, shape);
}

Tensor loss_of(const Tensor& logits, const Tensor& text) {
  const Dim count = kBatch * kLength;
  return cross_entropy(reshape(logits, {count, 256}), reshape(slice(text, 1, 1, kLength + 1), {count}));
}

}  // namespace

TEST_SUITE("interop") {
  TEST_CASE("writes a GPT, its logits, gradients and twenty steps of AdamW" * doctest::skip()) {
    const char* const folder = std::getenv("RESILIN_INTEROP_DIR");
    REQUIRE_MESSAGE(folder != nullptr, "RESILIN_INTEROP_DIR names no folder");
    default_generator().manual_seed(3);
    const nn::GPT model({.block_size = kLength, .n_layer = 3, .n_head = 4, .n_embd = 64});
    NamedTensors written;
    for (const auto& [name, x] : nn::named_parameters(model)) written.emplace_back("model." + name, clone(detach(x)));
    optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-3, .weight_decay = 0.1});
    std::vector<float> losses;
    for (i64 step = 0; step < kSteps; ++step) {
      const Tensor text = tokens(step);
      written.emplace_back(cat("tokens.", step), text);
      const Tensor logits = model(slice(text, 1, 0, kLength));
      const Tensor loss = loss_of(logits, text);
      backward(loss);
      if (step == 0) {
        written.emplace_back("logits", detach(logits));
        for (const auto& [name, x] : nn::named_parameters(model)) written.emplace_back("grad." + name, clone(grad(x)));
      }
      losses.push_back(loss.item<float>());
      optimizer.step();
      optimizer.zero_grad();
    }
    const Dim count[] = {kSteps};
    written.emplace_back("losses", Tensor::of<float>(losses, count));
    write_safetensors(std::string(folder) + "/gpt.safetensors", written);
  }
}
