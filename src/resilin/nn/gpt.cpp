// src/resilin/nn/gpt.cpp -- GPT: a decoder-only transformer, with the parts it is made of.
#include "resilin/nn/gpt.h"

#include <cmath>

#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/activation/gelu.h"
#include "resilin/ops/contract/attention.h"
#include "resilin/ops/contract/linear.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/random/normal.h"
#include "resilin/ops/view/range.h"
#include "resilin/ops/view/shape.h"

namespace resilin::nn {
namespace {

void check_config(const GPTConfig& c) {
  for (const i64 size : {c.vocab_size, c.block_size, c.n_layer, c.n_head, c.n_embd}) {
    if (size < 1)
      throw ArgumentError(cat("GPT: a size is ", size, "; vocab_size, block_size, n_layer, n_head and n_embd must be at least 1"));
  }
  if (c.n_embd % c.n_head != 0) throw ArgumentError(cat("GPT: n_embd ", c.n_embd, " is no multiple of n_head ", c.n_head));
}

}  // namespace

CausalSelfAttention::CausalSelfAttention(const GPTConfig& config)
    : c_attn(config.n_embd, 3 * config.n_embd, config.bias, config.dtype),
      c_proj(config.n_embd, config.n_embd, config.bias, config.dtype),
      resid_dropout{config.dropout},
      attn_dropout(config.dropout),
      n_head(config.n_head) {}

Tensor CausalSelfAttention::operator()(const Tensor& x) const {
  const Dim batch = x.size(0);
  const Dim length = x.size(1);
  const i64 width = x.size(2).value();
  const Tensor qkv = c_attn(x);
  const auto heads = [&](i64 part) {
    return transpose(reshape(slice(qkv, 2, part * width, (part + 1) * width), {batch, length, n_head, width / n_head}), 1, 2);
  };
  const AttentionOptions options{.dropout_p = training ? attn_dropout : 0, .is_causal = true};
  const Tensor y = scaled_dot_product_attention(heads(0), heads(1), heads(2), options);
  return resid_dropout(c_proj(reshape(transpose(y, 1, 2), {batch, length, width})));
}

MLP::MLP(const GPTConfig& config)
    : c_fc(config.n_embd, 4 * config.n_embd, config.bias, config.dtype),
      c_proj(4 * config.n_embd, config.n_embd, config.bias, config.dtype),
      dropout{config.dropout} {}

Tensor MLP::operator()(const Tensor& x) const { return dropout(c_proj(gelu(c_fc(x), {GeluApproximation::Tanh}))); }

Block::Block(const GPTConfig& config)
    : ln_1(config.n_embd, 1e-5, config.bias, config.dtype),
      attn(config),
      ln_2(config.n_embd, 1e-5, config.bias, config.dtype),
      mlp(config) {}

Tensor Block::operator()(const Tensor& x) const {
  const Tensor y = x + attn(ln_1(x));
  return y + mlp(ln_2(y));
}

GPT::GPT(const GPTConfig& of) : config(of) {
  check_config(config);
  transformer.wte = Embedding(config.vocab_size, config.n_embd, config.dtype);
  transformer.wpe = Embedding(config.block_size, config.n_embd, config.dtype);
  transformer.drop = {config.dropout};
  for (i64 i = 0; i < config.n_layer; ++i) transformer.h.emplace_back(config);
  transformer.ln_f = LayerNorm(config.n_embd, 1e-5, config.bias, config.dtype);
  lm_head.weight = transformer.wte.weight;

  const NoGrad no_grad;
  const double residual = 0.02 / std::sqrt(2 * static_cast<double>(config.n_layer));
  for (const NamedTensor& entry : named_parameters(*this)) {
    const bool ends_branch = entry.first.ends_with("c_proj.weight");
    if (entry.second.ndim() == 2) normal_(entry.second, 0, ends_branch ? residual : 0.02);
    if (entry.first.ends_with(".bias")) mul_(entry.second, 0);
  }
}

Tensor GPT::operator()(const Tensor& tokens) const {
  if (tokens.ndim() != 2) throw ShapeError(cat("GPT: tokens must be [batch, length], but are ", tokens.shape()));
  const Dim length = tokens.size(1);
  if (length.value() > config.block_size)
    throw ShapeError(cat("GPT: a sequence of ", length, " tokens is longer than block_size ", config.block_size));
  Tensor x = transformer.drop(transformer.wte(tokens) + transformer.wpe(iota(length)));
  for (const Block& block : transformer.h) x = block(x);
  return lm_head(transformer.ln_f(x));
}

}  // namespace resilin::nn
