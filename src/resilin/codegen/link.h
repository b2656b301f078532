// src/resilin/codegen/link.h -- Internal: an ELF relocatable object of the compiler plug-in to position-independent code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "resilin/base/text.h"

namespace resilin {

/// Text and constants that run wherever they lie, and where phase<p> begins in them.
struct LinkedCode {
  std::vector<std::byte> bytes;
  std::vector<std::uint64_t> entries;
};

/// Lays out the allocated sections and applies relocations relative to the program counter. Throws InternalError naming what it refuses: a symbol that
/// is not defined (kernels call through Launch::abi only), another kind of relocation, writable data, a missing phase, a damaged file.
LinkedCode link_object(std::span<const std::byte> object, i64 phase_count);

}  // namespace resilin
