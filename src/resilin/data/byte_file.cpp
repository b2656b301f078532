// src/resilin/data/byte_file.cpp -- mapping files of bytes and cutting them into parts.
#include "resilin/data/byte_file.h"

#include "resilin/base/file.h"

namespace resilin::data {

ByteFile::ByteFile(const std::string& path) : path_(path), file_(std::make_shared<MappedFile>(path)) {
  const std::span<const std::byte> bytes = file_->bytes();
  if (bytes.empty()) throw IoError(cat("byte_file: the file is empty: ", path, "; it must hold bytes"));
  bytes_ = {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

ByteFile ByteFile::part(i64 begin, i64 end) const {
  if (begin < 0 || begin >= end || end > size_bytes()) {
    throw IndexError(
        cat("part: the bytes [", begin, ", ", end, ") of ", size_bytes(), ": ", path_, "; 0 <= begin < end <= the size must hold"));
  }
  ByteFile out = *this;
  out.bytes_ = bytes_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  return out;
}

Split split(const ByteFile& file, double held_out_fraction) {
  const bool inside = held_out_fraction > 0 && held_out_fraction < 1;
  const i64 held_out = inside ? static_cast<i64>(static_cast<double>(file.size_bytes()) * held_out_fraction) : 0;
  if (held_out < 1 || held_out >= file.size_bytes()) {
    throw ArgumentError(cat("split: a part is empty: fraction ", held_out_fraction, " of ", file.size_bytes(), " bytes: ", file.path(),
                            "; 0 < fraction < 1 must hold and each part needs a byte"));
  }
  const i64 cut = file.size_bytes() - held_out;
  return {file.part(0, cut), file.part(cut, file.size_bytes())};
}

}  // namespace resilin::data
