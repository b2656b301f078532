// src/resilin/ops/view/reference_view.h -- Internal: what references and samples of views share.
#pragma once

#include "resilin/ir/reference.h"

namespace resilin::ops {

inline Dim size_symbol(int index) { return Dim::symbol('s', index); }

/// Fills the output with the element of the input that `from` names for each output index; `from` gives -1 for the fill value.
template <class From>
void reference_view(ir::ReferenceCall& call, const From& from, const Number& fill = 0.0) {
  const ir::Array& x = call.input(0);
  ir::Array& out = call.output();
  for (i64 i = 0; i < out.numel(); ++i) {
    const i64 at = from(ir::unravel(i, out.shape), i);
    if (x.is_real()) {
      out.set(i, at < 0 ? fill.as_double() : x.real(at));
    } else {
      out.set_integer(i, at < 0 ? fill.as_integer() : x.integer(at));
    }
  }
}

}  // namespace resilin::ops
