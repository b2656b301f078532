// src/resilin/autograd/function.h -- Function: a step of a history with a forward and a backward of the user's own.
#pragma once

#include <any>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "resilin/tensor/tensor.h"

namespace resilin {

namespace tape {
class FunctionNode;
}

/// What forward leaves for backward.
class RESILIN_API FunctionContext {
 public:
  FunctionContext();
  ~FunctionContext();
  FunctionContext(const FunctionContext&) = delete;
  FunctionContext& operator=(const FunctionContext&) = delete;

  /// In forward: keeps inputs, outputs or any other tensors, with the same checks as those of ops.
  void save_for_backward(std::span<const Tensor> tensors);
  void save_for_backward(std::initializer_list<Tensor> tensors);
  /// In backward: what was kept, in order; ArgumentError after it was freed or when it was written since.
  std::vector<Tensor> saved_tensors() const;
  bool needs_input_grad(std::size_t input) const;
  /// In forward: this output requires no gradient.
  void mark_non_differentiable(const Tensor& output);
  /// In forward: this input was written in place. It must be among the outputs, and takes the step as its history as after an op in place.
  void mark_dirty(const Tensor& input);
  /// In forward: the gradient of this output comes to backward in another floating dtype than the output's, or, with nothing, in the dtype in which it
  /// arrives. DtypeError for a dtype that is no float.
  void set_output_grad_dtype(const Tensor& output, std::optional<DType> dtype);
  /// In forward: gradients that did not arrive are undefined in backward instead of zeros.
  void set_materialize_grads(bool materialize);
  /// Anything else.
  std::any notes;

 private:
  friend class tape::FunctionNode;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// `forward` runs unrecorded; `backward` gives back one gradient per input, undefined for none. A backward made of ops can be differentiated again.
struct Function {
  using Body = std::function<std::vector<Tensor>(FunctionContext& context, std::span<const Tensor> tensors)>;
  std::string name;  // "Square" -> "SquareBackward"
  Body forward;
  Body backward;
};

/// Runs the function and records one step when an input requires a gradient. Inputs may be undefined.
///
/// An output in the memory of an input that is not marked as dirty cannot be written later (UnsupportedError). forward may write into inputs that it marks.
/// Errors  ArgumentError for marks on other tensors than inputs and outputs, and as for an op in place: a leaf that requires a gradient, a view of one
RESILIN_API std::vector<Tensor> apply_function(const Function& function, std::span<const Tensor> inputs);
RESILIN_API std::vector<Tensor> apply_function(const Function& function, std::initializer_list<Tensor> inputs);

}  // namespace resilin
