// src/resilin/ops/registry.h -- all ops: an array of family tables, and the look-up by name.
#pragma once

#include <span>
#include <string_view>

#include "resilin/ir/op.h"

namespace resilin {

/// The ops of one family, in the order of its files.
using OpTable = std::span<const ir::OpDef* const>;
std::span<const OpTable> op_families();
/// Null when there is no op of this name.
const ir::OpDef* find_op(std::string_view name);

}  // namespace resilin
