// src/resilin/dispatch/apply.h -- apply(): the one verb for tensors, answered by Execute now or by Trace into a graph.
#pragma once

#include <bit>
#include <initializer_list>
#include <span>

#include "resilin/ir/op.h"
#include "resilin/runtime/executable.h"
#include "resilin/tensor/tensor.h"

namespace resilin {

/// One input of a call: a tensor (borrowed), a number, or nothing for an optional input left out. Two words: calls pass it in registers.
class Input {
 public:
  Input() = default;
  Input(const Tensor& tensor) {  // NOLINT
    if (!tensor.defined()) return;
    word_ = reinterpret_cast<std::intptr_t>(&tensor);
    kind_ = Kind::Tensor;
  }
  Input(Number number)  // NOLINT
      : word_(number.bits()), argument_(number.argument_index()), number_kind_(number.kind()), kind_(Kind::Number) {}
  template <class T>
    requires std::is_arithmetic_v<T> Input(T value) : Input(Number(value)) {}  // NOLINT

    bool is_tensor() const { return kind_ == Kind::Tensor; }
    bool is_number() const { return kind_ == Kind::Number; }
    const Tensor& tensor() const { return *reinterpret_cast<const Tensor*>(word_); }
    NumberKind number_kind() const { return number_kind_; }
    Number number() const {
      if (argument_ >= 0) return Number::argument(number_kind_, argument_);
      switch (number_kind_) {
        case NumberKind::Bool: return word_ != 0;
        case NumberKind::Integer: return word_;
        default: return std::bit_cast<double>(word_);
      }
    }

   private:
    enum class Kind : std::uint8_t { None, Tensor, Number };
    i64 word_ = 0;  // the tensor's address or the number's bits
    std::int32_t argument_ = -1;
    NumberKind number_kind_ = NumberKind::Float;
    Kind kind_ = Kind::None;
};
static_assert(sizeof(Input) == 16);

/// Internal: an op with its inputs, borrowed for the time of the call.
struct OpCall {
  const ir::OpDef& op;
  std::span<const Input> inputs;
  ir::AttrsRef attrs;
  const Tensor* destination = nullptr;  // the first of one for each output
  std::span<const Tensor> destinations() const {
    if (destination == nullptr) return {};
    return {destination, static_cast<std::size_t>(op.output_count)};
  }
};

/// Applies an op: promotes the inputs, infers the result's types, and runs it or appends it to the graph being traced.
///
/// With a destination the result is written into that tensor's memory, which is returned; its shape must be the result's, its dtype may differ
/// where PyTorch's in-place ops allow it. An op of several outputs takes an array of as many destinations.
///
/// Errors  ShapeError, DtypeError, ArgumentError as the op states, and what kernels report
Outputs apply(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination = nullptr);

/// The same for ops without attributes or with one result.
Tensor apply_one(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination = nullptr);
Tensor apply_one(const ir::OpDef& op, std::initializer_list<Input> inputs);
template <class A>
Tensor apply_one(const ir::OpDef& op, std::initializer_list<Input> inputs, const A& attrs) {
  return apply_one(op, std::span<const Input>(inputs.begin(), inputs.size()), ir::AttrsRef{&attrs, op.attrs});
}
/// x = op(inputs) in x's own memory; gives back x.
const Tensor& apply_into(const Tensor& destination, const ir::OpDef& op, std::initializer_list<Input> inputs);
template <class A>
const Tensor& apply_into(const Tensor& destination, const ir::OpDef& op, std::initializer_list<Input> inputs, const A& attrs) {
  apply_one(op, std::span<const Input>(inputs.begin(), inputs.size()), ir::AttrsRef{&attrs, op.attrs}, &destination);
  return destination;
}

}  // namespace resilin
