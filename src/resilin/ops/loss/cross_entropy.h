// src/resilin/ops/loss/cross_entropy.h -- the cross entropy of logits and targets.
#pragma once

#include <array>
#include <string_view>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kCrossEntropyOps;

enum class Reduction : std::uint8_t { Mean, Sum, None };
constexpr std::array<std::string_view, 3> enum_names(const Reduction*) { return {"mean_of_rows", "sum_of_rows", "rows"}; }

struct CrossEntropyAttrs {
  Number ignore_index = -100;
  Reduction reduction = Reduction::Mean;
  bool smooths = false;
  Number label_smoothing = 0.0;
  static constexpr auto fields() {
    return std::tuple{
        field("ignore_index", &CrossEntropyAttrs::ignore_index, "Target of rows that do not count."),
        field("reduction", &CrossEntropyAttrs::reduction,
              "What becomes of the losses of the rows; their mean is over the weights that count."),
        field("smooths", &CrossEntropyAttrs::smooths, "Whether label_smoothing is not 0."),
        field("label_smoothing", &CrossEntropyAttrs::label_smoothing, "Share of the target spread over all classes, in [0, 1].")};
  }
};

struct CrossEntropyOptions {
  Tensor weight = {};  // [classes], of the logits' dtype: a factor for each class
  i64 ignore_index = -100;
  Reduction reduction = Reduction::Mean;
  double label_smoothing = 0;
};

/// -log(softmax(logits)[target]) of every row, in two kernels; backward takes one.
///
/// Shapes  logits [n, classes, ...], target [n, ...] (i64 or i32: a class); logits [classes], target []. -> [], or target's shape with Reduction::None.
///         A target of the logits' shape and dtype holds probabilities instead.
/// Dtypes  floats; f16 and bf16 are computed in f32
/// Errors  ShapeError, DtypeError; ArgumentError for a smoothing outside [0, 1]; IndexError for a target outside [0, classes) that is not ignore_index
RESILIN_API Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {});

}  // namespace resilin
