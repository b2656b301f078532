// src/resilin/dispatch/layout_class.h -- Internal: what of a tensor's shape and strides decides which kernel serves it.
#pragma once

#include <cstdint>
#include <span>

#include "resilin/base/small_vector.h"
#include "resilin/ir/graph.h"
#include "resilin/tensor/tensor.h"

namespace resilin {

using KeyWords = SmallVector<std::uint64_t, 12>;

/// Appends the class of a tensor to a key: dtype, number of axes, which axes have size 1, and for tensors that are not row-major the order of the axes by
/// stride, each stride's kind (0, 1, other) and which neighbours in that order are dense. Sizes and other strides are not part of it.
void append_layout_class(KeyWords& key, const Tensor& x);

/// The type that stands for every tensor of x's class: sizes other than 1 and free strides become fresh symbols of the graph.
ir::Type class_type(ir::Graph& graph, const Tensor& x);

}  // namespace resilin
