// src/resilin/parallel/digest.h -- Internal: digests of large memory, fast enough for every step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace resilin::parallel {

/// 64 bits that differ when one byte or the length differs, but for chance (it is no defence against somebody who chooses the bytes). The same on every machine.
std::uint64_t digest_of(std::span<const std::byte> bytes);

}  // namespace resilin::parallel
