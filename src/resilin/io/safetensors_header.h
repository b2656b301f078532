// src/resilin/io/safetensors_header.h -- Internal: the header of a .safetensors file as values, read with distrust and written.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resilin/io/safetensors.h"

namespace resilin {

/// One tensor of the file: its data are the bytes [begin, end) of what follows the header.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::F32;
  Shape shape;
  i64 begin = 0;
  i64 end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of the text
  NamedTexts metadata;
  std::size_t size_bytes = 0;  // of the length prefix and the header: where the data start
};

/// The header of a whole file; the entries' data cover what follows it exactly. Throws as read_safetensors.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, const std::string& path);

/// The length prefix and the header, padded with spaces so that the data start at a multiple of 8. Throws as write_safetensors.
std::string safetensors_header_text(const std::vector<SafetensorsEntry>& entries, const NamedTexts& metadata, const std::string& path);

/// A name from a file, quoted and cut to a length that fits a message.
std::string quoted(std::string_view name);

}  // namespace resilin
