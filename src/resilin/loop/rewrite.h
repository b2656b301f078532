// src/resilin/loop/rewrite.h -- Internal: visits and replaces the index expressions inside statements.
#pragma once

#include <functional>

#include "resilin/loop/nest.h"

namespace resilin::loop {

/// Calls `visit` for every Dim in the block: extents, offsets, and those inside Scalars (each shared Scalar node once).
void visit_dims(const Block& block, const std::function<void(Dim)>& visit);
/// Replaces every such Dim; sharing between Scalars is kept.
void map_dims(Block& block, const std::function<Dim(Dim)>& map);
/// Calls `visit` for every Scalar that a statement holds, nested blocks included.
void visit_scalars(const Block& block, const std::function<void(const Scalar&)>& visit);

}  // namespace resilin::loop
