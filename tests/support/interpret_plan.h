// tests/support/interpret_plan.h -- runs a Plan with the nest interpreter in place of generated code.
#pragma once

#include <span>

#include "resilin/plan/plan.h"
#include "resilin/runtime/executable.h"

namespace resilin::test {

/// As Executable::run, but every kernel is interpreted, one element at a time; throws the typed errors that the runtime throws.
Outputs interpret_plan(const Plan& plan, std::span<const Tensor* const> inputs, SymbolValues symbols, std::span<const Number> numbers);

}  // namespace resilin::test
