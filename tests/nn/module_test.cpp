// tests/nn/module_test.cpp -- names, order and loading of parameters; initialisation.
#include <cmath>
#include <optional>

#include <doctest/doctest.h>

#include "resilin/autograd/history.h"
#include "resilin/nn/gpt.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/reduce/reduce.h"

#include "tests/support/array.h"

using namespace resilin;

namespace {

struct Pair {
  Tensor scale;
  nn::Linear first;
  std::optional<nn::Linear> second;
  static constexpr auto fields() {
    return std::tuple{field("first", &Pair::first), field("scale", &Pair::scale), field("second", &Pair::second)};
  }
};

std::vector<std::string> names_of(const NamedTensors& named) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : named) names.push_back(name);
  return names;
}

const nn::GPTConfig kSmall{.vocab_size = 11, .block_size = 6, .n_layer = 2, .n_head = 2, .n_embd = 8};

}  // namespace

TEST_CASE("names are PyTorch's: own tensors first, children in order, lists numbered, absent ones left out") {
  Pair pair{zeros({1}), nn::Linear(2, 3, false), std::nullopt};
  CHECK(names_of(nn::state_dict(pair)) == std::vector<std::string>{"scale", "first.weight"});
  pair.second = nn::Linear(3, 1);
  CHECK(names_of(nn::state_dict(pair)) == std::vector<std::string>{"scale", "first.weight", "second.weight", "second.bias"});
}

TEST_CASE("a GPT has the keys of its checkpoints, and its head is the token table") {
  const nn::GPT model(kSmall);
  const std::vector<std::string> names = names_of(nn::state_dict(model));
  CHECK(names.front() == "transformer.wte.weight");
  CHECK(names.back() == "lm_head.weight");
  for (const char* name : {"transformer.h.1.attn.c_attn.weight", "transformer.h.0.mlp.c_proj.bias", "transformer.ln_f.bias"})
    CHECK_MESSAGE(std::find(names.begin(), names.end(), name) != names.end(), name);
  CHECK(model.lm_head.weight.is_same(model.transformer.wte.weight));
  CHECK(nn::parameters(model).size() == names.size() - 1);
}

TEST_CASE("load_state_dict writes all or nothing") {
  default_generator().manual_seed(1);
  const nn::GPT from(kSmall);
  const nn::GPT to(kSmall);
  const Tensor& weight = to.transformer.h[0].attn.c_attn.weight;
  CHECK(test::bit_difference(weight, from.transformer.h[0].attn.c_attn.weight));

  NamedTensors values = nn::state_dict(from);
  const Tensor before = test::copy_storage(weight);
  values.back().second = zeros({3, 3});
  CHECK_THROWS_WITH_AS(
      nn::load_state_dict(to, values),
      "Error(s) in loading state_dict: size mismatch for lm_head.weight: copying a param with shape [3, 3] from checkpoint, the "
      "shape in current model is [11, 8].",
      ShapeError);
  values.back() = {"head.weight", zeros({11, 8})};
  CHECK_THROWS_WITH_AS(nn::load_state_dict(to, values),
                       "Error(s) in loading state_dict: Missing key(s): \"lm_head.weight\". Unexpected key(s): \"head.weight\".",
                       ArgumentError);
  CHECK(!test::bit_difference(weight, before));
  nn::load_state_dict(to, values, false);
  CHECK(!test::bit_difference(weight, from.transformer.h[0].attn.c_attn.weight));
}

TEST_CASE("a linear layer is uniform in 1 / sqrt(in), and its parameters require gradients") {
  default_generator().manual_seed(2);
  const nn::Linear layer(64, 100);
  CHECK(requires_grad(layer.weight));
  CHECK(requires_grad(layer.bias));
  double highest = 0;
  double square = 0;
  const ir::Array weight = test::to_array(layer.weight);
  for (const double x : weight.reals) {
    highest = std::max(highest, std::abs(x));
    square += x * x / static_cast<double>(weight.numel());
  }
  CHECK(highest <= 0.125);
  CHECK(highest > 0.124);
  CHECK(std::abs(square - 0.125 * 0.125 / 3) < 2e-4);  // the variance of a uniform number
}

TEST_CASE("a position of a GPT sees itself and what comes before") {
  default_generator().manual_seed(3);
  const nn::GPT model(kSmall);
  const i64 first[] = {1, 2, 3, 4};
  const i64 second[] = {1, 2, 9, 4};
  const Dim shape[] = {1, 4};
  const ir::Array a = test::to_array(model(Tensor::of<i64>(first, shape)));
  const ir::Array b = test::to_array(model(Tensor::of<i64>(second, shape)));
  REQUIRE(a.shape == std::vector<i64>{1, 4, 11});
  for (i64 i = 0; i < 2 * 11; ++i) CHECK(a.real(i) == b.real(i));
  CHECK(a.real(2 * 11) != b.real(2 * 11));
  CHECK(a.real(3 * 11) != b.real(3 * 11));
}

TEST_CASE("dropout asks whether its module trains") {
  nn::GPTConfig config = kSmall;
  config.dropout = 0.5;
  nn::GPT model(config);
  const i64 tokens[] = {1, 2, 3, 4};
  const Dim shape[] = {1, 4};
  const Tensor x = Tensor::of<i64>(tokens, shape);
  CHECK(test::bit_difference(model(x), model(x)));
  nn::set_training(model, false);
  CHECK(!test::bit_difference(model(x), model(x)));
}

TEST_CASE("bad sizes of a GPT are refused with their values") {
  CHECK_THROWS_WITH_AS(nn::GPT({.n_head = 3, .n_embd = 8}), "GPT: n_embd 8 is no multiple of n_head 3", ArgumentError);
  const nn::GPT model(kSmall);
  CHECK_THROWS_WITH_AS(model(zeros({1, 7}, DType::I64)), "GPT: a sequence of 7 tokens is longer than block_size 6", ShapeError);
  CHECK_THROWS_WITH_AS(model(zeros({7}, DType::I64)), "GPT: tokens must be [batch, length], but are [7]", ShapeError);
}
