// src/resilin/dist/collective/first_frame.cpp -- sealing and checking first frames.
#include "resilin/dist/collective/first_frame.h"

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "resilin/base/text.h"
#include "resilin/dist/wire/crc32c.h"
#include "resilin/dist/wire/frame.h"

namespace resilin::dist {
namespace {

static_assert(std::is_trivially_copyable_v<FirstFrame> && std::has_unique_object_representations_v<FirstFrame>);

std::uint32_t checksum_of(const FirstFrame& frame) {
  constexpr std::size_t kBegin = offsetof(FirstFrame, generation);
  return crc32c({reinterpret_cast<const char*>(&frame) + kBegin, sizeof(FirstFrame) - kBegin});
}

template <class E>
bool has_name(E value) {
  return static_cast<std::size_t>(value) < enum_names(static_cast<E*>(nullptr)).size();
}

bool has_names(const Signature& signature) {
  return has_name(signature.kind) && has_name(signature.op) && has_name(signature.dtype) && has_name(signature.algorithm);
}

}  // namespace

std::string print_signature(const Signature& signature) {
  std::string text = cat(enum_name(signature.kind), "(");
  if (signature.op != ReduceOp::None) text += cat(enum_name(signature.op), ", ");
  if (signature.kind == CollectiveKind::Broadcast) text += cat("root ", signature.root, ", ");
  if (signature.kind == CollectiveKind::Barrier) return text + ")";
  text += cat(name(signature.dtype), ", ", signature.elements, " elements)");
  return text;
}

std::uint64_t hash_of(const Signature& signature) {
  const std::uint64_t hash = fields_hash(signature);
  return hash == 0 ? 1 : hash;
}

void seal(FirstFrame& frame) {
  frame.magic = kFrameMagic;
  frame.checksum = checksum_of(frame);
}

std::string damage_of(const FirstFrame& frame, std::uint64_t generation) {
  if (frame.magic != kFrameMagic) return "its first bytes are not those of a frame";
  if (frame.checksum != checksum_of(frame)) return "its checksum does not fit";
  if (!has_names(frame.signature)) return "it asks for what there is no name for";
  if (frame.generation != generation) return cat("it is of generation ", frame.generation);
  return "";
}

}  // namespace resilin::dist
