// src/resilin/ops/size_rule.cpp -- Internal: sizes that an attribute gives are at least 0, and one size at most another.
#include "resilin/ops/size_rule.h"

#include "resilin/base/error.h"

namespace resilin::ops {

void require_sizes(ir::InferContext& c, std::span<const Dim> shape) {
  for (const Dim size : shape) {
    if (size.is_constant() && size.value() < 0) {
      throw ShapeError(cat(c.op(), ": negative dimension ", size, ": shape is ", shape, "; sizes must be at least 0"));
    }
    require_less_equal(c, 0, size, "a size is negative");
  }
}

void require_less_equal(ir::InferContext& c, Dim a, Dim b, std::string_view what) {
  const std::optional<bool> holds = c.facts().is_less_equal(a, b);
  if (holds && *holds) return;
  const std::string message = cat(c.op(), ": ", what, ": ", a, " and ", b, "; the second must not be smaller");
  if (holds) throw ShapeError(message);
  c.checks().push_back({max(a, b), b, message});
  c.facts().assume_less_equal(a, b);
}

}  // namespace resilin::ops
