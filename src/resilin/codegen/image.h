// src/resilin/codegen/image.h -- Internal: the flat image of a kernel, the one form of code in memory, in the disk cache and in the pack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "resilin/codegen/compile.h"
#include "resilin/codegen/cpu.h"
#include "resilin/codegen/link.h"

namespace resilin {

/// Format of images; part of every key. An image says the oldest version that can read it.
inline constexpr std::uint32_t kImageVersion = 1;

/// Everything that decides the code of a kernel. Two equal keys have the same code; nothing else is ever taken for it.
struct KernelKey {
  Isa isa = Isa::Avx2;
  std::string features;  // of the generated code, as LLVM spells them
  std::string text;      // versions, target, injected fault and the printed nest, in full
  std::uint64_t hash() const;
  /// Unlike for every key of a folder: two hashes in hex and a suffix.
  std::string file_name() const;
};

/// The bytes of an image.
std::string make_image(const KernelKey& key, const LinkedCode& code);

/// Why `image` is not the code of `key`, or nothing: magic, versions, sizes, checksum, target, the full key text and the entry points are all compared.
std::string check_image(std::string_view image, const KernelKey& key);

/// The hash of the key that an image was made for; the image need not be checked but must have a header (InternalError).
std::uint64_t image_hash(std::string_view image);

/// Copies the code of a checked image to pages of its own, which are never writable and executable at once.
std::shared_ptr<const Code> map_image(std::string_view image, Origin origin);

}  // namespace resilin
