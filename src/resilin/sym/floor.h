// src/resilin/sym/floor.h -- Internal: division of plain integers that rounds towards minus infinity.
#pragma once

#include "resilin/base/text.h"

namespace resilin {

__extension__ using Wide = __int128;  // products of two i64

/// Requires b != 0 and not (lowest i64) / -1.
constexpr i64 floor_quotient(i64 a, i64 b) {
  const i64 quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// Requires b != 0 and b != -1; has the sign of b.
constexpr i64 floor_remainder(i64 a, i64 b) {
  const i64 remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

}  // namespace resilin
