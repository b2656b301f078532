// src/resilin/runtime/contract.cpp -- Internal: runs a Contract as matrix products of strided matrices.
#include <string>

#include "resilin/codegen/gemm/gemm.h"
#include "resilin/runtime/launch.h"

namespace resilin {
namespace {

// The letters of "...mk,...kn->...mn" after the ellipsis of each side.
struct Labels {
  std::string a, b, out;
};

Labels parse_labels(std::string_view text) {
  Labels labels;
  std::string* const parts[] = {&labels.a, &labels.b, &labels.out};
  int part = 0;
  for (const char letter : text) {
    if (letter == ',' || letter == '>') ++part;
    if (letter >= 'a' && letter <= 'z') *parts[part] += letter;
  }
  return labels;
}

// Stride of the axis with this letter; 0 where the tensor has no such axis. Letters name the last axes.
i64 stride_of(const Tensor& x, const std::string& letters, char letter) {
  const std::size_t at = letters.find(letter);
  if (at == std::string::npos) return 0;
  return x.stride(x.ndim() - static_cast<i64>(letters.size()) + static_cast<i64>(at)).value();
}

// The role of each letter: m in a and out, n in b and out, k in a and b.
struct Roles {
  char m = 0, n = 0, k = 0;
};
Roles roles_of(const Labels& labels, std::string_view text) {
  Roles roles;
  const auto set = [&](char& role, char letter) {
    if (role != 0) throw UnsupportedError(cat("contract: '", text, "' has two axes of one role; only one each is supported"));
    role = letter;
  };
  for (const char letter : labels.a) {
    const bool in_b = labels.b.find(letter) != std::string::npos;
    const bool in_out = labels.out.find(letter) != std::string::npos;
    if (in_b && in_out) throw UnsupportedError(cat("contract: '", text, "' has a named batch axis; batch axes stand in the ellipsis"));
    if (!in_b && !in_out) throw UnsupportedError(cat("contract: '", text, "' sums an axis of one input alone; sum it first"));
    set(in_out ? roles.m : roles.k, letter);
  }
  for (const char letter : labels.b) {
    if (labels.a.find(letter) == std::string::npos) set(roles.n, letter);
  }
  return roles;
}

// Batch axes of the output with each input's stride along them (0 where it broadcasts).
struct BatchAxis {
  i64 size, a, b, out;
};
std::vector<BatchAxis> batch_axes(const Labels& labels, const Tensor& a, const Tensor& b, const Tensor& out) {
  std::vector<BatchAxis> axes;
  const i64 batch_ndim = out.ndim() - static_cast<i64>(labels.out.size());
  const auto stride = [&](const Tensor& x, const std::string& letters, i64 axis) {
    const i64 shifted = axis - batch_ndim + x.ndim() - static_cast<i64>(letters.size());
    return shifted < 0 || x.size(shifted) == 1 ? i64{0} : x.stride(shifted).value();
  };
  for (i64 axis = 0; axis < batch_ndim; ++axis) {
    const BatchAxis next{out.size(axis).value(), stride(a, labels.a, axis), stride(b, labels.b, axis), out.stride(axis).value()};
    if (next.size == 1) continue;
    if (!axes.empty()) {
      BatchAxis& last = axes.back();
      if (last.a == next.a * next.size && last.b == next.b * next.size && last.out == next.out * next.size) {
        last = {last.size * next.size, next.a, next.b, next.out};
        continue;
      }
    }
    axes.push_back(next);
  }
  return axes;
}

const std::byte* shifted(const Tensor& x, i64 elements) {
  return static_cast<const std::byte*>(x.data()) + elements * size_bytes(x.dtype());
}

}  // namespace

void contract(const ContractStep& step, const Tensor& a, const Tensor& b, const Tensor& out) {
  if (out.numel() == 0) return;
  const Labels labels = parse_labels(step.labels);
  const Roles roles = roles_of(labels, step.labels);
  const auto size = [](const Tensor& x, const std::string& letters, char letter) {
    return x.size(x.ndim() - static_cast<i64>(letters.size()) + static_cast<i64>(letters.find(letter))).value();
  };
  GemmArguments gemm_arguments{.dtype = out.dtype()};
  gemm_arguments.m = roles.m == 0 ? 1 : size(a, labels.a, roles.m);
  gemm_arguments.n = roles.n == 0 ? 1 : size(b, labels.b, roles.n);
  gemm_arguments.k = roles.k == 0 ? 1 : size(a, labels.a, roles.k);
  gemm_arguments.a_row_stride = stride_of(a, labels.a, roles.m);
  gemm_arguments.a_col_stride = stride_of(a, labels.a, roles.k);
  gemm_arguments.b_row_stride = stride_of(b, labels.b, roles.k);
  gemm_arguments.b_col_stride = stride_of(b, labels.b, roles.n);
  gemm_arguments.c_row_stride = stride_of(out, labels.out, roles.m);
  gemm_arguments.c_col_stride = stride_of(out, labels.out, roles.n);

  std::vector<BatchAxis> axes = batch_axes(labels, a, b, out);
  if (!axes.empty()) {
    gemm_arguments.batch = axes.back().size;
    gemm_arguments.a_batch_stride = axes.back().a;
    gemm_arguments.b_batch_stride = axes.back().b;
    gemm_arguments.c_batch_stride = axes.back().out;
    axes.pop_back();
  }
  std::vector<i64> position(axes.size(), 0);
  for (bool more = true; more;) {
    i64 at_a = 0;
    i64 at_b = 0;
    i64 at_out = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      at_a += position[i] * axes[i].a;
      at_b += position[i] * axes[i].b;
      at_out += position[i] * axes[i].out;
    }
    gemm_arguments.a = shifted(a, at_a);
    gemm_arguments.b = shifted(b, at_b);
    gemm_arguments.c = const_cast<std::byte*>(shifted(out, at_out));
    gemm(gemm_arguments);
    more = false;
    for (std::size_t i = axes.size(); i-- > 0 && !more;) {
      more = ++position[i] < axes[i].size;
      if (!more) position[i] = 0;
    }
  }
}

}  // namespace resilin
