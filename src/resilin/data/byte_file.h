// src/resilin/data/byte_file.h -- ByteFile: the bytes of a mapped file, or a part of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin {
class MappedFile;
}

namespace resilin::data {

/// The bytes of a file that is mapped read-only, or a part of them; copies and parts share the mapping. The file may be replaced or removed
/// meanwhile; it must not be shortened or written in place.
class RESILIN_API ByteFile {
 public:
  /// IoError when the file cannot be mapped or is empty.
  explicit ByteFile(const std::string& path);

  std::span<const std::uint8_t> bytes() const { return bytes_; }
  i64 size_bytes() const { return static_cast<i64>(bytes_.size()); }
  const std::string& path() const { return path_; }
  /// The bytes [begin, end) of this; IndexError outside 0 <= begin < end <= size_bytes().
  ByteFile part(i64 begin, i64 end) const;

 private:
  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  std::span<const std::uint8_t> bytes_;
};

/// A text in two parts: the one to learn from, and the end that is held out to measure with.
struct Split {
  ByteFile train;
  ByteFile held_out;
};

/// Holds out the last floor(size * fraction) bytes. ArgumentError unless 0 < fraction < 1 and both parts have a byte.
RESILIN_API Split split(const ByteFile& file, double held_out_fraction);

}  // namespace resilin::data
