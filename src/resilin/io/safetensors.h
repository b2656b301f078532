// src/resilin/io/safetensors.h -- .safetensors files: named tensors and named texts in one flat file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "resilin/tensor/named_tensors.h"

namespace resilin {

/// Texts by key, as a file's `__metadata__` holds them.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// The content of a .safetensors file, in the order of its header.
struct Safetensors {
  NamedTensors tensors;
  NamedTexts metadata;
};

/// Reads a .safetensors file through a mapping: names, dtypes and shapes cost the header alone, elements are read from the disk when they are used.
///
/// A tensor is a view of the mapped memory, row-major, with a storage of its own; a write into it stays in this process and never reaches the
/// file. A tensor whose data do not start at a multiple of its element's size is a copy. The file may be replaced or removed while the tensors
/// live; it must not be shortened or written in place.
///
/// Dtypes: BOOL U8 I8 I16 I32 I64 F16 BF16 F32 F64 F8_E4M3 F8_E5M2 C64; UnsupportedError names another one. Every other refusal is an IoError
/// with the path, the tensor and the values: a header that runs past the end or 100 MB, is no JSON or repeats a name; a shape that is negative,
/// has more than 64 axes or overflows; offsets that overlap, leave a hole or bytes behind the last tensor, run past the end or do not
/// fit shape and dtype; a BOOL that is neither 0 nor 1.
RESILIN_API Safetensors read_safetensors(const std::string& path);

/// Writes the tensors, of any layout, row-major into a .safetensors file, which replaces `path` at once: a reader, and a process after a
/// crash, sees the old file or the whole new one. The header's names are sorted; the data are in an order that aligns each tensor.
///
/// ArgumentError for a repeated name, the name `__metadata__`, text that is not UTF-8 and an undefined tensor; DataDependentError for a traced one;
/// UnsupportedError for c128, which the format lacks; IoError when the file cannot be written.
RESILIN_API void write_safetensors(const std::string& path, const NamedTensors& tensors, const NamedTexts& metadata = {});

}  // namespace resilin
