// src/resilin/autograd/write.h -- Internal: writes in place that change the history of what is written.
#pragma once

#include <string_view>

#include "resilin/autograd/tape.h"

namespace resilin::tape {

/// A write that gives the destination another history is refused where that history cannot be told; `has_edges`: what is written has a history. ArgumentError
/// with torch's words for a leaf that requires a gradient and views of it, UnsupportedError otherwise.
void check_write(std::string_view op, const Tensor& destination, bool has_edges);
/// The destination was overwritten: its history, and that of what it is a view of, goes on from the edge.
void rewrite_history(const Tensor& destination, Edge written);

}  // namespace resilin::tape
