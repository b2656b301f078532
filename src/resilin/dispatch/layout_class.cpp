// src/resilin/dispatch/layout_class.cpp -- Internal: what of a tensor's shape and strides decides which kernel serves it.
#include "resilin/dispatch/layout_class.h"

#include <algorithm>

namespace resilin {
namespace {

enum class StrideKind : std::uint8_t { Free = 0, Zero = 1, One = 2, Joined = 3 };

// Axes of size other than 1, outermost (largest stride) first, with the kind of each stride.
struct Classified {
  SmallVector<std::uint8_t, 8> axis;
  SmallVector<StrideKind, 8> kind;
};

Classified classify(const Shape& shape, const Strides& strides) {
  Classified c;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (!(shape[a] == 1)) c.axis.push_back(static_cast<std::uint8_t>(a));
  }
  std::stable_sort(c.axis.begin(), c.axis.end(), [&](std::uint8_t a, std::uint8_t b) { return strides[a].value() > strides[b].value(); });
  for (std::size_t i = 0; i < c.axis.size(); ++i) {
    const i64 stride = strides[c.axis[i]].value();
    StrideKind kind = stride == 0 ? StrideKind::Zero : stride == 1 ? StrideKind::One : StrideKind::Free;
    if (kind == StrideKind::Free && i + 1 < c.axis.size()) {
      const std::size_t inner = c.axis[i + 1];
      const bool joined = strides[inner].value() != 0 && stride == strides[inner].value() * shape[inner].value();
      if (joined) kind = StrideKind::Joined;
    }
    c.kind.push_back(kind);
  }
  return c;
}

bool is_row_major(const Shape& shape, const Strides& strides) {
  i64 expected = 1;
  for (std::size_t a = shape.size(); a-- > 0;) {
    const i64 size = shape[a].value();
    if (size == 0) return true;
    if (size != 1 && strides[a].value() != expected) return false;
    expected *= size;
  }
  return true;
}

}  // namespace

void append_layout_class(KeyWords& key, const Tensor& x) {
  const TensorBody& body = x.body();
  std::uint64_t ones = 0;
  for (std::size_t a = 0; a < body.shape.size(); ++a) ones |= static_cast<std::uint64_t>(body.shape[a] == 1) << a;
  const bool row_major = is_row_major(body.shape, body.strides);
  key.push_back(std::uint64_t{1} | static_cast<std::uint64_t>(body.dtype) << 2 | static_cast<std::uint64_t>(body.shape.size()) << 8 |
                static_cast<std::uint64_t>(row_major) << 15 | ones << 16);
  if (row_major) return;
  const Classified c = classify(body.shape, body.strides);
  for (std::size_t i = 0; i < c.axis.size(); ++i)
    key.push_back(static_cast<std::uint64_t>(c.axis[i]) << 2 | static_cast<std::uint64_t>(c.kind[i]));
}

ir::Type class_type(ir::Graph& graph, const Tensor& x) {
  ir::Type type{x.dtype(), {}, {}};
  for (const Dim size : x.shape()) type.shape.push_back(size == 1 ? Dim(1) : graph.add_symbol());
  if (is_row_major(x.shape(), x.strides())) return type;
  const Classified c = classify(x.shape(), x.strides());
  Strides strides(x.shape().size());
  for (std::size_t i = c.axis.size(); i-- > 0;) {
    switch (c.kind[i]) {
      case StrideKind::Zero: strides[c.axis[i]] = 0; break;
      case StrideKind::One: strides[c.axis[i]] = 1; break;
      case StrideKind::Free: strides[c.axis[i]] = graph.add_symbol(); break;
      case StrideKind::Joined: strides[c.axis[i]] = strides[c.axis[i + 1]] * type.shape[c.axis[i + 1]]; break;
    }
  }
  type.strides = strides;
  return type;
}

}  // namespace resilin
