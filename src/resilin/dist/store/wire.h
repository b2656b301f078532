// src/resilin/dist/store/wire.h -- Internal: what both ends of a store's connection know.
#pragma once

#include <cstdint>

namespace resilin::dist {

/// Longest request and longest reply: sixteen of the largest values.
inline constexpr std::uint64_t kStorePayloadBytes = std::uint64_t{16} << 20;

}  // namespace resilin::dist
