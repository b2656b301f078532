// src/resilin/dispatch/apply.h -- apply(): the one verb for tensors, answered by Execute now or by Trace into a graph.
#pragma once

#include <initializer_list>
#include <span>

#include "resilin/ir/op.h"
#include "resilin/runtime/executable.h"
#include "resilin/tensor/tensor.h"

namespace resilin {

/// One input of a call: a tensor (borrowed), a number, or nothing for an optional input left out.
class Input {
 public:
  Input() = default;
  Input(const Tensor& tensor) : tensor_(tensor.defined() ? &tensor : nullptr) {}  // NOLINT
  Input(Number number) : number_(number), is_number_(true) {}                     // NOLINT
  template <class T>
    requires std::is_arithmetic_v<T> Input(T value) : Input(Number(value)) {}  // NOLINT

    bool is_tensor() const { return tensor_ != nullptr; }
    bool is_number() const { return is_number_; }
    const Tensor& tensor() const { return *tensor_; }
    const Number& number() const { return number_; }

   private:
    const Tensor* tensor_ = nullptr;
    Number number_;
    bool is_number_ = false;
};

/// Applies an op: promotes the inputs, infers the result's types, and runs it or appends it to the graph being traced.
///
/// With a destination the (single) result is written into that tensor's memory, which is returned; its shape must be the result's, its dtype may differ
/// where PyTorch's in-place ops allow it. Errors: ShapeError, DtypeError, ArgumentError as the op states, and what kernels report.
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
