// tests/sweep/tolerance.h -- how far a result may lie from its reference.
#pragma once

#include <optional>
#include <string>

#include "tests/sweep/expected.h"

namespace resilin::sweep {

/// Where output `output` of a call first differs from the reference by more than it may; nothing when it does not.
///
/// Integers and Bools are exact, NaN equals NaN, infinities are exact. Reals r of dtype t may lie from the reference e, rounded to t, by at
/// most
///     relative(t) * |e|  +  c * eps(compute dtype of t) * M  +  the smallest denormal of t
/// where M is the largest finite |value| among inputs and outputs, and c depends on the form: 0 for Views and plain Updates, which copy; 2 for
/// Pointwise and Extern; 4 sqrt(n) for what adds up n elements (Reduce, Scan, Contract, Composite), and M is squared there where it exceeds 1,
/// since products are summed too. An Update that combines rounds to t with every element it writes: 4 eps(t) M.
///     f64 1e-13   f32 2e-6   f16 2^-10   bf16 2^-7   f8e4m3fn 2^-3   f8e5m2 2^-2      (the last four: one unit in the last place)
/// A Pointwise real that is still too far is accepted when it lies between references of inputs moved by 2^-22 (f64: 2^-51): what rounding
/// may do to a function with steps, such as a floored quotient.
std::optional<std::string> value_difference(const Call& call, const Expected& expected, int output, const Tensor& got);

}  // namespace resilin::sweep
