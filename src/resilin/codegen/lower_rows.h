// src/resilin/codegen/lower_rows.h -- Internal: lowers regions of Pointwise, View and Reduce nodes over one iteration space.
#pragma once

#include "resilin/codegen/lower.h"

namespace resilin {

/// Pointwise regions and row-resident regions: for each row, one loop per level of reductions, then the loops that store full outputs.
void lower_rows(const ir::Graph& region, const SizeClass& size_class, Lowered& out);
/// A region whose last node is a Scan.
void lower_scan(const ir::Graph& region, Lowered& out);
/// A region whose last node is an Update.
void lower_update(const ir::Graph& region, Lowered& out);

}  // namespace resilin
