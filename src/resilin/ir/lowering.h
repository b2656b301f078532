// src/resilin/ir/lowering.h -- the closed set of lowering forms: how an op becomes loops.
#pragma once

#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "resilin/ir/attrs.h"
#include "resilin/ir/type.h"
#include "resilin/loop/nest.h"
#include "resilin/loop/scalar.h"
#include "resilin/loop/status.h"
#include "resilin/tensor/tensor.h"

namespace resilin::ir {

/// What every formula may ask: types, attributes, run-time numbers. Implemented by codegen::lower.
class FormulaContext {
 public:
  virtual ~FormulaContext() = default;
  virtual int input_count() const = 0;
  virtual DType input_dtype(int input) const = 0;         // of a number: dtype_of(kind)
  virtual const Shape& input_shape(int input) const = 0;  // of a number: empty
  virtual DType output_dtype(int output = 0) const = 0;
  virtual const Shape& output_shape(int output = 0) const = 0;
  virtual AttrsRef attrs_ref() const = 0;
  template <class T>
  const T& attrs() const {
    return *static_cast<const T*>(attrs_ref().data);
  }
  /// A constant or the run-time argument, in `dtype`.
  virtual loop::Scalar number(const Number& number, DType dtype) = 0;
  /// Reports `code` for input `operand` with the I64 `value` when ok is false; the engine names the op and the values.
  virtual void check(const loop::Scalar& ok, StatusCode code, int operand, const loop::Scalar& value) = 0;
};

/// out[i] = formula(in0[i], in1[i], ...): inputs broadcast to the output's shape.
class PointwiseContext : public FormulaContext {
 public:
  /// The element, in compute_dtype of the input's dtype (f32 for f16 and bf16). Numbers come in compute_dtype(output dtype) unless the input is told otherwise.
  virtual loop::Scalar input(int input) = 0;
  /// Row-major position of the element in the output.
  virtual Dim element() = 0;
};
struct Pointwise {
  loop::Scalar (*formula)(PointwiseContext&) = nullptr;  // result is cast (rounded) to the output dtype
};

/// Reduction of input 0 over axes. `build` states the Combiner: element from the input's value and the position along the reduced axes.
class ReduceContext : public FormulaContext {
 public:
  virtual loop::Scalar input() = 0;  // element of input 0, in compute dtype
  virtual Dim position() = 0;        // row-major position among the reduced axes
  virtual Dim count() = 0;           // number of reduced elements
};
struct Reduce {
  SmallVector<i64, 5> (*axes)(AttrsRef attrs, i64 ndim) = nullptr;  // normalised, ascending
  loop::Combiner (*build)(ReduceContext&) = nullptr;
  /// One Scalar per output from the reduced components; cast to the output dtypes.
  std::vector<loop::Scalar> (*finish)(ReduceContext&, std::span<const loop::Scalar> results) = nullptr;
};

/// Inclusive scan of input 0 along one axis; the output has the input's shape.
struct Scan {
  i64 (*axis)(AttrsRef attrs, i64 ndim) = nullptr;
  loop::Combiner (*build)(ReduceContext&) = nullptr;
  std::vector<loop::Scalar> (*finish)(ReduceContext&, std::span<const loop::Scalar> results) = nullptr;
};

/// One condition on an index: low <= value < high.
struct IndexRange {
  Dim value, low, high;
};
/// Where an output element comes from: one source index per axis of input 0; where a condition fails the element is `fill`.
struct ViewMap {
  Shape source = {};
  std::vector<IndexRange> valid = {};
  Number fill = {};
};
class ViewContext : public FormulaContext {
 public:
  virtual std::span<const Dim> index() = 0;  // of the output element
  /// The integer at `position` of tensor input `input`, checked to lie in [low, high) (StatusCode::IndexOutOfRange), as a Dim.
  virtual Dim loaded_index(int input, std::span<const Dim> position, Dim low, Dim high) = 0;
};
struct View {
  ViewMap (*map)(ViewContext&) = nullptr;
};

/// Writes elements of value inputs into places of a base: result = base, then result[target(i)] = value[i] (or combine(result[target(i)], value[i])).
class UpdateContext : public ViewContext {
 public:
  virtual int entry() = 0;         // of a list input: which operand is written (0 outside lists)
  virtual Dim entry_offset() = 0;  // of a list input: sum of the sizes before it along the axis that `list_axis` names
};
struct Update {
  int base = 0;                                          // input that is updated; -1: none, every element is written
  int value = 1;                                         // input (or list) that is written; the index of the context runs over its shape
  i64 (*list_axis)(AttrsRef attrs, i64 ndim) = nullptr;  // for a list input: the axis along which entries follow each other
  Shape (*target)(UpdateContext&) = nullptr;
  loop::Scalar (*combine)(FormulaContext&, const loop::Scalar& old_value, const loop::Scalar& value) = nullptr;  // null: assign
  /// Axis of the value along which targets may repeat: iterated serially, in ascending order. -1: the map is injective.
  i64 (*repeated_axis)(AttrsRef attrs, i64 ndim) = nullptr;
};

/// An einsum over two inputs: "...mk,...kn->...mn"; the ellipsis broadcasts.
struct Contract {
  std::string_view labels;
};

/// Code that is no loop nest. Inputs are contiguous or strided tensors as they come; outputs are allocated by the caller from infer's types
/// (a fresh size makes `run` allocate). Runs on the caller's thread.
struct ExternCall {
  std::span<const Tensor> inputs;
  AttrsRef attrs;
  std::vector<Tensor>& outputs;
  template <class T>
  const T& attributes() const {
    return *static_cast<const T*>(attrs.data);
  }
};
struct Extern {
  void (*run)(const ExternCall&) = nullptr;
  std::string_view reason = {};  // why it is no nest; must be stated
};

/// Built from other ops; the body runs under Trace once per key. Numbers arrive as attributes or as 0-d operands of ops.
struct CompositeCall {
  std::span<const Tensor> inputs;  // undefined where absent
  AttrsRef attrs;
  template <class T>
  const T& attributes() const {
    return *static_cast<const T*>(attrs.data);
  }
};
struct Composite {
  std::vector<Tensor> (*body)(const CompositeCall&) = nullptr;
  bool widens = true;  // f16 and bf16 inputs come as f32; the results are rounded once in any case
};

using Lowering = std::variant<std::monostate, Pointwise, Reduce, Scan, View, Update, Contract, Extern, Composite>;

}  // namespace resilin::ir
