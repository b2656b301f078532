// src/resilin/codegen/image.cpp -- writes, checks and maps images.
#include "resilin/codegen/image.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "resilin/base/hash.h"

namespace resilin {
namespace {

constexpr char kMagic[8] = {'R', 'S', 'L', 'N', 'K', 'R', 'N', 'L'};
constexpr std::uint32_t kLeastReader = 1;
constexpr std::uint64_t kCodeAlignment = 64;
constexpr std::uint32_t kMostPhases = 4096;

/// Followed by the entry points (u64 each, from the start of the code), the key text, padding to 64 bytes and the code. Little endian.
struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t least_reader;
  std::uint32_t isa;
  std::uint32_t phases;
  std::uint64_t features_hash;
  std::uint64_t key_hash;
  std::uint64_t key_bytes;
  std::uint64_t code_offset;
  std::uint64_t code_bytes;
  std::uint64_t total_bytes;
  std::uint64_t checksum;  // of all bytes of the image, this word taken as 0
};
static_assert(sizeof(Header) == 80 && std::is_trivially_copyable_v<Header>);

std::uint64_t checksum(std::string_view image) {
  constexpr std::size_t kBefore = offsetof(Header, checksum);
  return hash_text(image.substr(sizeof(Header)), hash_text(image.substr(0, kBefore)));
}

std::uint64_t aligned(std::uint64_t offset) { return (offset + kCodeAlignment - 1) / kCodeAlignment * kCodeAlignment; }

Header read_header(std::string_view image) {
  Header header;
  std::memcpy(&header, image.data(), sizeof header);
  return header;
}

std::string_view key_text(std::string_view image, const Header& header) {
  return image.substr(sizeof(Header) + header.phases * sizeof(std::uint64_t), header.key_bytes);
}

std::uint64_t entry(std::string_view image, std::uint32_t phase) {
  std::uint64_t value = 0;
  std::memcpy(&value, image.data() + sizeof(Header) + phase * sizeof value, sizeof value);
  return value;
}

/// The parts lie where they must, within the image.
bool has_sound_layout(std::string_view image, const Header& header) {
  if (header.total_bytes != image.size() || header.phases > kMostPhases || header.key_bytes > image.size()) return false;
  const std::uint64_t code = aligned(sizeof(Header) + header.phases * sizeof(std::uint64_t) + header.key_bytes);
  if (header.code_offset != code || code > image.size() || header.code_bytes != image.size() - code) return false;
  for (std::uint32_t phase = 0; phase < header.phases; ++phase) {
    if (entry(image, phase) >= header.code_bytes) return false;
  }
  return true;
}

/// Code in executable pages.
class MappedCode final : public Code {
 public:
  MappedCode(std::string_view image, Origin origin) : origin_(origin) {
    const Header header = read_header(image);
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    size_bytes_ = (header.code_bytes + page - 1) / page * page;
    for (std::uint32_t phase = 0; phase < header.phases; ++phase) entries_.push_back(entry(image, phase));
    base_ = mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED)
      throw MemoryError(cat("codegen: no memory for code: ", size_bytes_, " bytes: ", std::generic_category().message(errno)));
    std::memcpy(base_, image.data() + header.code_offset, header.code_bytes);
    if (mprotect(base_, size_bytes_, PROT_READ | PROT_EXEC) == 0) return;
    const int reason = errno;
    munmap(base_, size_bytes_);
    throw UnsupportedError(
        cat("codegen: the system refuses executable memory: ", std::generic_category().message(reason), "; kernels need it"));
  }
  ~MappedCode() override { munmap(base_, size_bytes_); }
  MappedCode(const MappedCode&) = delete;
  MappedCode& operator=(const MappedCode&) = delete;

  PhaseFunction phase(int index) const override {
    RESILIN_ASSERT(index >= 0 && static_cast<std::size_t>(index) < entries_.size(), cat("a kernel has no phase ", index));
    return reinterpret_cast<PhaseFunction>(static_cast<std::byte*>(base_) + entries_[static_cast<std::size_t>(index)]);
  }
  Origin origin() const override { return origin_; }

 private:
  Origin origin_;
  void* base_ = nullptr;
  std::size_t size_bytes_ = 0;
  std::vector<std::uint64_t> entries_;
};

}  // namespace

std::uint64_t KernelKey::hash() const { return hash_text(text, hash_text(features, static_cast<std::uint64_t>(isa))); }

std::string KernelKey::file_name() const {
  constexpr char kDigits[] = "0123456789abcdef";
  const std::array<std::uint64_t, 2> hashes = {hash(), hash_text(text, ~hash())};
  std::string name;
  for (const std::uint64_t word : hashes) {
    for (int shift = 60; shift >= 0; shift -= 4) name += kDigits[(word >> shift) & 15];
  }
  return name + ".kernel";
}

std::string make_image(const KernelKey& key, const LinkedCode& code) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kImageVersion;
  header.least_reader = kLeastReader;
  header.isa = static_cast<std::uint32_t>(key.isa);
  header.phases = static_cast<std::uint32_t>(code.entries.size());
  header.features_hash = hash_text(key.features);
  header.key_hash = key.hash();
  header.key_bytes = key.text.size();
  header.code_offset = aligned(sizeof(Header) + code.entries.size() * sizeof(std::uint64_t) + key.text.size());
  header.code_bytes = code.bytes.size();
  header.total_bytes = header.code_offset + header.code_bytes;
  std::string image(sizeof header, '\0');
  image.append(reinterpret_cast<const char*>(code.entries.data()), code.entries.size() * sizeof(std::uint64_t));
  image += key.text;
  image.resize(header.code_offset);
  image.append(reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size());
  std::memcpy(image.data(), &header, sizeof header);
  header.checksum = checksum(image);
  std::memcpy(image.data(), &header, sizeof header);
  return image;
}

std::string check_image(std::string_view image, const KernelKey& key) {
  if (image.size() < sizeof(Header)) return "it is too short";
  const Header header = read_header(image);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return "it is not a kernel";
  if (header.least_reader > kImageVersion || header.version < kLeastReader) return cat("its format is version ", header.version);
  if (!has_sound_layout(image, header)) return "its parts do not fit its size";
  if (header.checksum != checksum(image)) return "its checksum is wrong";
  if (header.isa != static_cast<std::uint32_t>(key.isa) || header.features_hash != hash_text(key.features))
    return "it is for another processor";
  if (header.key_hash != key.hash() || key_text(image, header) != key.text) return "it is another kernel";
  return {};
}

std::uint64_t image_hash(std::string_view image) {
  RESILIN_ASSERT(image.size() >= sizeof(Header), "an image is shorter than its header");
  return read_header(image).key_hash;
}

std::shared_ptr<const Code> map_image(std::string_view image, Origin origin) { return std::make_shared<MappedCode>(image, origin); }

}  // namespace resilin
