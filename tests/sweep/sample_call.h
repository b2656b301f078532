// tests/sweep/sample_call.h -- the typical calls of an op, for tests that look at single ops.
#pragma once

#include <string_view>
#include <vector>

#include "tests/sweep/call.h"

namespace resilin::sweep {

/// All ops, family after family.
std::vector<const ir::OpDef*> all_ops();

/// The first typical call of the op of this name; doctest's REQUIRE fails when there is no such op.
Call sample_call(std::string_view op);

}  // namespace resilin::sweep
