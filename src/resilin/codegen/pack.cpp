// src/resilin/codegen/pack.cpp -- a sorted index of key hashes, then the images.
#include "resilin/codegen/pack.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "resilin/base/hash.h"
#include "resilin/base/log.h"

namespace resilin {
namespace {

constexpr char kMagic[8] = {'R', 'S', 'L', 'N', 'P', 'A', 'C', 'K'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kLeastReader = 1;
constexpr std::uint64_t kAlignment = 64;

/// Followed by `count` rows in ascending order of hash, then the images. Little endian.
struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t least_reader;
  std::uint64_t count;
  std::uint64_t total_bytes;
  std::uint64_t index_checksum;
};
static_assert(sizeof(Header) == 40);

struct Row {
  std::uint64_t hash;
  std::uint64_t offset;
  std::uint64_t bytes;
};

std::uint64_t aligned(std::uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

Header read_header(std::string_view pack) {
  Header header;
  std::memcpy(&header, pack.data(), sizeof header);
  return header;
}

Row read_row(std::string_view pack, std::uint64_t index) {
  Row row;
  std::memcpy(&row, pack.data() + sizeof(Header) + index * sizeof row, sizeof row);
  return row;
}

/// The first row whose hash is not less than `hash`.
std::uint64_t lower_bound(std::string_view pack, std::uint64_t count, std::uint64_t hash) {
  std::uint64_t low = 0;
  std::uint64_t high = count;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (read_row(pack, middle).hash < hash) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

std::unique_ptr<const Pack> Pack::open(const std::string& path) {
  try {
    std::unique_ptr<Pack> pack(new Pack(MappedFile(path)));
    const std::string reason = pack->check();
    if (reason.empty()) return pack;
    log(LogLevel::Warning, cat("codegen: the kernel pack is not used: ", path, ": ", reason));
  } catch (const IoError&) {  // a build without a pack is as good, only slower at first
  }
  return nullptr;
}

std::string Pack::check() {
  if (bytes().size() < sizeof(Header)) return "it is too short";
  const Header header = read_header(bytes());
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return "it is not a kernel pack";
  if (header.least_reader > kVersion || header.version < kLeastReader) return cat("its format is version ", header.version);
  const std::uint64_t room = (bytes().size() - sizeof(Header)) / sizeof(Row);
  if (header.total_bytes != bytes().size() || header.count > room) return "its size is wrong";
  if (header.index_checksum != hash_text(bytes().substr(sizeof(Header), header.count * sizeof(Row)), header.count))
    return "its index is damaged";
  count_ = static_cast<i64>(header.count);
  return {};
}

std::string_view Pack::find(const KernelKey& key, bool& refused) const {
  const std::uint64_t hash = key.hash();
  const std::uint64_t count = static_cast<std::uint64_t>(count_);
  for (std::uint64_t i = lower_bound(bytes(), count, hash); i < count; ++i) {
    const Row row = read_row(bytes(), i);
    if (row.hash != hash) break;
    if (row.offset > bytes().size() || row.bytes > bytes().size() - row.offset) continue;
    const std::string_view image = bytes().substr(row.offset, row.bytes);
    if (check_image(image, key).empty()) return image;
    refused = true;
  }
  return {};
}

void write_pack(const std::string& path, std::span<const std::string> images) {
  std::vector<std::pair<Row, const std::string*>> rows;
  for (const std::string& image : images) rows.push_back({Row{image_hash(image), 0, image.size()}, &image});
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first.hash < b.first.hash; });
  rows.erase(std::unique(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first.hash == b.first.hash; }), rows.end());
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.least_reader = kLeastReader;
  header.count = rows.size();
  std::uint64_t end = aligned(sizeof(Header) + rows.size() * sizeof(Row));
  std::string index;
  for (auto& [row, image] : rows) {
    row.offset = end;
    end = aligned(end + row.bytes);
    index.append(reinterpret_cast<const char*>(&row), sizeof row);
  }
  header.total_bytes = end;
  header.index_checksum = hash_text(index, header.count);
  std::string pack(reinterpret_cast<const char*>(&header), sizeof header);
  pack += index;
  for (const auto& [row, image] : rows) {
    pack.resize(row.offset);
    pack += *image;
  }
  pack.resize(end);
  atomic_write(path, pack);
  std::filesystem::permissions(path, std::filesystem::perms(0644));  // unlike a user's cache, a pack serves all users
}

}  // namespace resilin
