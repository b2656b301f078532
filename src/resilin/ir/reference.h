// src/resilin/ir/reference.h -- the slow plain twin of an op and its sample calls, for the sweep.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "resilin/ir/attrs.h"
#include "resilin/sym/dim.h"
#include "resilin/tensor/dtype.h"

namespace resilin::ir {

/// A row-major array of plain numbers: floats as double, integers and Bool as i64.
struct Array {
  DType dtype = DType::F32;
  std::vector<i64> shape = {};
  std::vector<double> reals = {};  // floating dtypes
  std::vector<i64> integers = {};  // the others
  i64 numel() const;
  bool is_real() const { return is_floating(dtype); }
  /// Value at a row-major position as either type.
  double real(i64 at) const {
    return is_real() ? reals[static_cast<std::size_t>(at)] : static_cast<double>(integers[static_cast<std::size_t>(at)]);
  }
  i64 integer(i64 at) const {
    return is_real() ? static_cast<i64>(reals[static_cast<std::size_t>(at)]) : integers[static_cast<std::size_t>(at)];
  }
  void set(i64 at, double value);
  void set_integer(i64 at, i64 value);
  /// A zero-filled array.
  static Array zeros(DType dtype, std::vector<i64> shape);
};
/// Multi-index of a row-major position, and back.
std::vector<i64> unravel(i64 at, std::span<const i64> shape);
i64 ravel(std::span<const i64> index, std::span<const i64> shape);
/// Position in `from` of the element that broadcasting shows at `index` of a larger shape.
i64 broadcast_position(std::span<const i64> index, std::span<const i64> from);

/// A call of an op on plain arrays: inputs after promotion, numbers as 0-d arrays of dtype i64, f64 or bool; absent inputs are empty optionals.
/// Outputs come with their inferred dtype and shape, zero-filled.
struct ReferenceCall {
  std::vector<std::optional<Array>> inputs;
  AttrsRef attrs;
  std::vector<Array> outputs;
  template <class T>
  const T& attributes() const {
    return *static_cast<const T*>(attrs.data);
  }
  const Array& input(int i) const { return *inputs[static_cast<std::size_t>(i)]; }
  Array& output(int i = 0) { return outputs[static_cast<std::size_t>(i)]; }
};
/// Fills the outputs in double or i64, with neither apply nor loops of the engine. Throws the op's error for bad values (index, division by zero).
using Reference = void (*)(ReferenceCall&);

/// How the sweep fills an input.
enum class Fill : std::uint8_t { Any, Positive, Divisor, Small, Index, Boolean };  // Divisor: any but the integer 0, -1 among them

/// One input of a sample: a shape over symbols s0, s1, ... that the sweep sets, the dtype if it is fixed, or a number.
struct SampleInput {
  Shape shape = {};
  Fill fill = Fill::Any;
  std::optional<DType> dtype = std::nullopt;    // absent: the dtype under test
  std::optional<Number> number = std::nullopt;  // a number instead of a tensor
  Dim index_bound = {};                         // Fill::Index: values in [0, bound)
};
/// One call: inputs, attributes (their Dims may use the same symbols), and typical values of s0, s1, ...
struct Sample {
  std::vector<SampleInput> inputs = {};
  Attrs attrs = {};
  std::vector<i64> sizes = {};
};
using Samples = std::vector<Sample> (*)();

}  // namespace resilin::ir
