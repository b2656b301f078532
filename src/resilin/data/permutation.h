// src/resilin/data/permutation.h -- Internal: a keyed permutation of [0, count) that needs no table.
#pragma once

#include <cstdint>

#include "resilin/base/text.h"

namespace resilin::data {

/// Where `index` of [0, count) goes in the permutation of this seed and stream; the same on every machine. Requires 0 <= index < count < 2^62.
i64 permuted(i64 index, i64 count, i64 seed, i64 stream);

}  // namespace resilin::data
