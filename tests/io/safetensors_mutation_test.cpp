// tests/io/safetensors_mutation_test.cpp -- thousands of damaged .safetensors files, each read or refused with a typed error.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/hash.h"
#include "resilin/io/safetensors.h"
#include "resilin/tensor/generator.h"
#include "resilin/tensor/row_major.h"

#include "tests/support/temporary_folder.h"
#include "tests/support/tensor.h"

namespace resilin {
namespace {

/// Numbers that are a function of the seed.
class Stream {
 public:
  explicit Stream(std::uint64_t seed) : seed_(seed) {}
  std::size_t below(std::size_t count) { return philox4x32(seed_, next_++, 0).word[0] % count; }

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

std::string flip_bit(std::string bytes, Stream& random, std::size_t limit) {
  const std::size_t at = random.below(limit);
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
  return bytes;
}

std::string insert_bytes(std::string bytes, Stream& random, std::size_t limit) {
  const std::size_t at = random.below(limit);
  for (std::size_t count = 1 + random.below(9); count > 0; --count) bytes.insert(at, 1, static_cast<char>(random.below(256)));
  return bytes;
}

/// One digit run of the text becomes another number.
std::string swap_number(std::string bytes, Stream& random, std::size_t limit) {
  static const std::vector<std::string> kNumbers = {
      "0",     "1",    "-1", "7", "8", "4294967296", "9223372036854775807", "9223372036854775808", "-0", "1.5", "1e3", "144115188075855872",
      "\"1\"", "null", "[]", "{}"};
  const std::size_t at = bytes.find_first_of("0123456789", 8 + random.below(limit - 8));
  if (at == std::string::npos) return bytes.substr(0, limit / 2);
  std::size_t end = bytes.find_first_not_of("0123456789", at);
  return bytes.replace(at, end - at, kNumbers[random.below(kNumbers.size())]);
}

/// The length prefix says what the header has.
std::string with_true_length(std::string bytes) {
  const std::size_t end = bytes.rfind('}');
  if (end == std::string::npos || end < 8) return bytes;
  const std::uint64_t length = end + 1 - 8;
  std::memcpy(bytes.data(), &length, 8);
  return bytes;
}

std::string mutate(const std::string& valid, std::size_t header_end, Stream& random) {
  // Most of the damage belongs to the header, where it can mislead.
  const std::size_t limit = random.below(8) == 0 ? valid.size() : header_end;
  switch (random.below(6)) {
    case 0: return flip_bit(valid, random, limit);
    case 1: return flip_bit(flip_bit(valid, random, limit), random, limit);
    case 2: return valid.substr(0, random.below(valid.size()));
    case 3: return insert_bytes(valid, random, limit);
    case 4: return with_true_length(swap_number(valid, random, header_end));
    default: return with_true_length(insert_bytes(swap_number(valid, random, header_end), random, 9 + random.below(header_end - 9)));
  }
}

/// Uses every byte of every tensor.
std::uint64_t use(const Safetensors& file) {
  std::uint64_t hash = 0;
  for (const auto& [name, tensor] : file.tensors) {
    hash = hash_text(bytes_of(tensor), hash_text(name, hash));
    hash += static_cast<std::uint64_t>(tensor.ndim() == 0 ? 0 : tensor.size(-1).value());
  }
  return hash;
}

TEST_CASE("damaged files are read or refused, and nothing else happens") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/x";
  write_safetensors(path,
                    {{"embedding.weight", test::random({5, 4}, DType::F32, 1)},
                     {"bias", test::random({3}, DType::BF16, 2)},
                     {"mask", test::random({2, 2}, DType::Bool, 3)},
                     {"step", test::random({}, DType::I64, 4)},
                     {"none", test::random({0, 7}, DType::F64, 5)}},
                    {{"format", "pt"}});
  const std::string valid = read_file(path);
  std::uint64_t length = 0;
  std::memcpy(&length, valid.data(), 8);
  const std::size_t header_end = 8 + static_cast<std::size_t>(length);
  int read = 0, refused = 0, other = 0;
  const std::string mutated = folder.path() + "/mutated";
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    CAPTURE(seed);
    Stream random(seed);
    // Gone first: file systems wait for the disk when a file is emptied and written again.
    std::filesystem::remove(mutated);
    std::ofstream(mutated, std::ios::binary) << mutate(valid, header_end, random);
    try {
      const Safetensors file = read_safetensors(mutated);
      use(file);
      ++read;
    } catch (const IoError& error) {
      CHECK(std::string(error.what()).find(mutated) != std::string::npos);
      ++refused;
    } catch (const UnsupportedError&) {
      ++refused;
    } catch (...) {
      ++other;
    }
  }
  CHECK(other == 0);
  CHECK(read + refused == 6000);
  // Flips in data, names and metadata are no damage that the format knows; most of the rest is.
  CHECK(read > 100);
  CHECK(refused > 3000);
}

}  // namespace
}  // namespace resilin
