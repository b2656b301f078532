// src/resilin/ir/type.cpp -- strides and text of types.
#include "resilin/ir/type.h"

#include <algorithm>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin::ir {
namespace {

/// Reads "f32[s0, 4]@[s1, 1]" from left to right.
class TypeReader {
 public:
  explicit TypeReader(std::string_view text) : text_(text) {}

  Type read() {
    Type type;
    type.dtype = read_dtype();
    type.shape = read_dims();
    if (at_ < text_.size() && text_[at_] == '@') {
      ++at_;
      type.strides = read_dims();
      if (type.strides->size() != type.shape.size()) {
        fail(at_, cat(type.shape.size(), " sizes and ", type.strides->size(), " strides; there must be one stride a size"));
      }
    }
    if (at_ != text_.size()) fail(at_, "text after the type; it must end here");
    return type;
  }

 private:
  [[noreturn]] void fail(std::size_t at, std::string_view what) const {
    throw ArgumentError(cat("parse_type: at ", at, " of \"", text_, "\": ", what));
  }
  DType read_dtype() {
    at_ = std::min(text_.find('['), text_.size());
    try {
      return parse_dtype(text_.substr(0, at_));
    } catch (const ArgumentError& error) {
      fail(0, error.what());
    }
  }
  Shape read_dims() {
    if (at_ == text_.size() || text_[at_] != '[') fail(at_, "'[' is missing; dims stand in brackets");
    ++at_;
    Shape dims;
    if (at_ < text_.size() && text_[at_] == ']') {
      ++at_;
      return dims;
    }
    while (true) {
      const std::size_t start = at_;
      skip_dim();
      dims.push_back(read_dim(start));
      if (text_[at_++] == ']') return dims;
    }
  }
  /// Moves to the comma or bracket after a dim: commas inside parentheses belong to it.
  void skip_dim() {
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '(') ++depth;
      if (c == ')') --depth;
      if (depth == 0 && (c == ',' || c == ']')) return;
    }
    fail(at_, "']' is missing; dims stand in brackets");
  }
  Dim read_dim(std::size_t start) const {
    std::string_view dim = text_.substr(start, at_ - start);
    while (dim.starts_with(' ')) dim.remove_prefix(1);
    try {
      return parse_dim(dim);
    } catch (const ArgumentError& error) {
      fail(start, error.what());
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Strides strides_of(const Type& type) { return type.strides ? *type.strides : contiguous_strides(type.shape); }

void append_text(std::string& out, const Type& type) {
  append_text(out, type.dtype);
  append_text(out, type.shape);
  if (!type.strides) return;
  out += '@';
  append_text(out, *type.strides);
}

Type parse_type(std::string_view text) { return TypeReader(text).read(); }

DType dtype_of(NumberKind kind) {
  switch (kind) {
    case NumberKind::Bool: return DType::Bool;
    case NumberKind::Integer: return DType::I64;
    case NumberKind::Float: break;
  }
  return DType::F64;
}

}  // namespace resilin::ir
