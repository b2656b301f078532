// src/resilin/loop/status.h -- why a kernel failed.
#pragma once

#include <cstdint>

namespace resilin {

/// Values are part of the disk format of kernels.
enum class StatusCode : std::int32_t { Ok = 0, IndexOutOfRange = 1, DivisionByZero = 2, NegativeExponent = 3, FactViolated = 4 };

}  // namespace resilin
