// src/resilin/dist/wire/crc32c.h -- Internal: the checksum CRC32C, which finds bytes that a wire or a disk changed.
#pragma once

#include <cstdint>
#include <string_view>

namespace resilin::dist {

/// CRC32C (polynomial 0x1edc6f41, reflected) of the bytes, going on from the checksum of those before.
///
/// Source   RFC 3720, section 12.1 and appendix B.4
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

}  // namespace resilin::dist
