// src/resilin/ir/type.h -- Type: dtype, shape and layout of a value of a graph.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "resilin/sym/dim.h"
#include "resilin/sym/number.h"
#include "resilin/tensor/dtype.h"
#include "resilin/tensor/layout.h"

namespace resilin::ir {

/// What is known of a tensor before it exists. Absent strides mean row-major.
struct Type {
  DType dtype = DType::F32;
  Shape shape = {};
  std::optional<Strides> strides = std::nullopt;
  i64 ndim() const { return static_cast<i64>(shape.size()); }
  friend bool operator==(const Type&, const Type&) = default;
};
Strides strides_of(const Type& type);

/// "f32[s0, 4]" or "f32[s0, 4]@[s1, 1]"; parse throws ArgumentError with the position.
void append_text(std::string& out, const Type& type);
Type parse_type(std::string_view text);

/// Bool -> Bool, Integer -> I64, Float -> F64.
DType dtype_of(NumberKind kind);

}  // namespace resilin::ir
