// src/resilin/dist/collective/first_frame.h -- Internal: what ranks tell each other before the first byte of a collective.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "resilin/base/reflect.h"
#include "resilin/dist/collective/schedule.h"
#include "resilin/tensor/dtype.h"

namespace resilin::dist {

/// What all ranks of a collective must agree on.
struct Signature {
  CollectiveKind kind = CollectiveKind::Barrier;
  ReduceOp op = ReduceOp::None;
  DType dtype = DType::F32;
  Algorithm algorithm = Algorithm::Direct;
  std::int32_t root = 0;
  std::uint64_t elements = 0;
  static constexpr auto fields() {
    return std::tuple{field("kind", &Signature::kind),           field("op", &Signature::op),     field("dtype", &Signature::dtype),
                      field("algorithm", &Signature::algorithm), field("root", &Signature::root), field("elements", &Signature::elements)};
  }
  friend bool operator==(const Signature&, const Signature&) = default;
};

/// "all_reduce(sum, f32, 1024 elements)".
std::string print_signature(const Signature& signature);
/// Never 0.
std::uint64_t hash_of(const Signature& signature);

/// The memories of a rank, as the peers on its host reach them; all 0 when no peer reads them.
struct MemoryAddresses {
  std::int64_t process = 0;
  std::uint64_t input = 0;
  std::uint64_t output = 0;
  std::uint64_t scratch = 0;
};

/// The fixed part of the first message of a collective to a peer, as it lies in memory: both ends are of one build on one byte order, which
/// hello has made sure of. Payload of at most kInlineBytes follows in the same message.
struct FirstFrame {
  std::uint32_t magic = 0;
  std::uint32_t checksum = 0;  // CRC32C of the rest of the header
  std::uint64_t generation = 0;
  std::uint64_t sequence = 0;
  Signature signature = {};
  MemoryAddresses memory = {};
  std::uint64_t payload_bytes = 0;
};
inline constexpr std::size_t kInlineBytes = 8192;

/// Fills in magic and checksum.
void seal(FirstFrame& frame);
/// Empty when the frame is whole and of this generation, else why not.
std::string damage_of(const FirstFrame& frame, std::uint64_t generation);

}  // namespace resilin::dist
