// src/resilin/nn/gpt.h -- GPT: a decoder-only transformer, with the parts it is made of.
#pragma once

#include <vector>

#include "resilin/nn/layers.h"

namespace resilin::nn {

struct GPTConfig {
  i64 vocab_size = 256;
  i64 block_size = 64;  // the longest sequence
  i64 n_layer = 4;
  i64 n_head = 4;
  i64 n_embd = 128;
  double dropout = 0;
  bool bias = true;
  DType dtype = DType::F32;  // of the parameters
};

/// Self-attention in which a position sees itself and what comes before.
struct CausalSelfAttention {
  Linear c_attn, c_proj;  // c_attn makes query, key and value
  Dropout resid_dropout;
  double attn_dropout = 0;
  i64 n_head = 1;
  bool training = true;
  static constexpr auto fields() {
    return std::tuple{field("c_attn", &CausalSelfAttention::c_attn), field("c_proj", &CausalSelfAttention::c_proj),
                      field("resid_dropout", &CausalSelfAttention::resid_dropout)};
  }

  CausalSelfAttention() = default;
  RESILIN_API explicit CausalSelfAttention(const GPTConfig& config);
  /// [batch, length, n_embd] -> the same.
  RESILIN_API Tensor operator()(const Tensor& x) const;
};

/// Two linear layers with gelu (its tanh form) between them, four times as wide inside.
struct MLP {
  Linear c_fc, c_proj;
  Dropout dropout;
  static constexpr auto fields() {
    return std::tuple{field("c_fc", &MLP::c_fc), field("c_proj", &MLP::c_proj), field("dropout", &MLP::dropout)};
  }

  MLP() = default;
  RESILIN_API explicit MLP(const GPTConfig& config);
  RESILIN_API Tensor operator()(const Tensor& x) const;
};

/// x + attention(norm(x)), then x + mlp(norm(x)).
struct Block {
  LayerNorm ln_1;
  CausalSelfAttention attn;
  LayerNorm ln_2;
  MLP mlp;
  static constexpr auto fields() {
    return std::tuple{field("ln_1", &Block::ln_1), field("attn", &Block::attn), field("ln_2", &Block::ln_2), field("mlp", &Block::mlp)};
  }

  Block() = default;
  RESILIN_API explicit Block(const GPTConfig& config);
  RESILIN_API Tensor operator()(const Tensor& x) const;
};

struct Transformer {
  Embedding wte, wpe;
  Dropout drop;
  std::vector<Block> h;
  LayerNorm ln_f;
  static constexpr auto fields() {
    return std::tuple{field("wte", &Transformer::wte), field("wpe", &Transformer::wpe), field("drop", &Transformer::drop),
                      field("h", &Transformer::h), field("ln_f", &Transformer::ln_f)};
  }
};

/// Token and position embeddings, blocks, a norm, and the token table again as the head. Weights are drawn from N(0, 0.02), those that end a residual
/// branch from N(0, 0.02 / sqrt(2 n_layer)); biases are 0.
struct GPT {
  GPTConfig config;
  Transformer transformer;
  Linear lm_head;  // its weight is wte's
  static constexpr auto fields() { return std::tuple{field("transformer", &GPT::transformer), field("lm_head", &GPT::lm_head)}; }

  GPT() = default;
  /// ArgumentError for sizes below 1, or an n_embd that n_head does not divide.
  RESILIN_API explicit GPT(const GPTConfig& config);
  /// Tokens [batch, length] (i64) -> logits [batch, length, vocab_size]. ShapeError for a length above block_size.
  RESILIN_API Tensor operator()(const Tensor& tokens) const;
};

}  // namespace resilin::nn
