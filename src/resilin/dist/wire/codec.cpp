// src/resilin/dist/wire/codec.cpp -- the checks of a payload's reader.
#include "resilin/dist/wire/codec.h"

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin::dist {

void PayloadReader::require(std::size_t count) const {
  if (rest_.size() < count) {
    throw DistError(cat("wire: a payload ends too early: ", rest_.size(), " bytes are left; the next value takes ", count));
  }
}

std::size_t PayloadReader::count(std::size_t least_bytes) {
  const std::size_t count = integer<std::uint32_t>();
  // Things without bytes would let a short payload announce four billion of them.
  const std::size_t most = least_bytes == 0 ? 0 : rest_.size() / least_bytes;
  if (count > most)
    throw DistError(cat("wire: a payload announces too much: ", count, " items; its ", rest_.size(), " bytes hold at most ", most));
  return count;
}

std::size_t PayloadReader::choice(std::size_t limit) {
  const std::size_t value = integer<std::uint8_t>();
  if (value >= limit) throw DistError(cat("wire: a payload holds no alternative: number ", value, "; it must be below ", limit));
  return value;
}

void PayloadReader::finish() const {
  if (!rest_.empty()) throw DistError(cat("wire: a payload is too long: ", rest_.size(), " bytes follow its value; none may"));
}

namespace detail {

void append_count(std::string& out, std::size_t count) {
  if (count > std::numeric_limits<std::uint32_t>::max()) {
    throw ArgumentError(cat("wire: a value is too long: ", count, " items; at most 2^32 - 1 are written"));
  }
  append_little(out, static_cast<std::uint32_t>(count));
}

void fail_enumerator(std::uint32_t value, std::size_t names) {
  throw DistError(cat("wire: a payload holds no enumerator: number ", value, "; it must be below ", names));
}

}  // namespace detail
}  // namespace resilin::dist
