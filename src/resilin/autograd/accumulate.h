// src/resilin/autograd/accumulate.h -- Internal: the end of a history: the node that adds a gradient to a leaf's own.
#pragma once

#include "resilin/autograd/tape.h"

namespace resilin::tape {

/// The node of a leaf; every history that reaches the leaf shares it.
NodePtr accumulator_of(const Tensor& leaf);
/// The leaf behind the node, or an undefined tensor when the node is another kind.
Tensor leaf_of(const Node& node);
/// Adds a gradient to `sum`: in place, or as a new tensor while grad mode is on. The first is kept as it is where nobody else holds its memory.
void accumulate(Tensor& sum, Tensor&& grad);

}  // namespace resilin::tape
