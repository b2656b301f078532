// src/resilin/autograd/reads.h -- Internal: which elements a vjp reads, found out by tracing it.
#pragma once

#include <cstdint>

#include "resilin/autograd/tape.h"

namespace resilin::tape {

struct BackwardOp;
struct RecordedCall;

/// What is known of a vjp before it runs. Bit i: the elements of input (output) i are read on the way to a wanted gradient; bit 63 stands for all from
/// there on.
struct Reads {
  std::uint64_t inputs = ~std::uint64_t{0};
  std::uint64_t outputs = ~std::uint64_t{0};
  std::uint64_t gives = 0;   // bit i: it gives a gradient of input i
  std::uint64_t passes = 0;  // ... which is the gradient of output 0 itself where the types are the same
  BackwardOp* op = nullptr;  // the vjp as an op; null when it cannot be one
};
constexpr std::uint64_t place_bit(std::size_t i) { return std::uint64_t{1} << (i < 63 ? i : 63); }

/// A vjp that only asks for a shape keeps nothing alive. Traced once for calls of the same op, structural attributes, dtypes, numbers of axes and axes of
/// size 1, with everything else unknown; a vjp that cannot be traced so, since it decides by a value or a size, reads everything. The answer lives as
/// long as the process.
const Reads& reads_of(const RecordedCall& call);

/// A tensor of which only dtype and shape may be asked; every use of its elements is an error.
Tensor absent(const GradType& type);
bool is_absent(const Tensor& x);

}  // namespace resilin::tape
