// src/resilin/ops/contract/einsum.h -- sums of products over labelled axes.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "resilin/dispatch/apply.h"

namespace resilin {

/// The sum of products that an equation such as "bij,bjk->bik" states: axes with one letter share one index, letters that the result lacks are summed over.
///
/// Letters   [a-zA-Z]; "..." stands for any further axes, which broadcast; a letter twice in one operand takes the diagonal; spaces are ignored
/// Result    what stands behind "->"; without it the axes of "...", then the letters that occur once, in alphabetical order
/// Sizes     axes of one letter are equal or 1
/// Operands  any number, multiplied from left to right by matmul, or by mul where a pair sums over nothing
/// Errors    ArgumentError for the equation, ShapeError for sizes; a diagonal of sizes that are symbols is UnsupportedError
RESILIN_API Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
RESILIN_API Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands);

}  // namespace resilin
