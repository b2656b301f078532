// src/resilin/dist/group/failure.h -- Internal: why a generation of a group works no more.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "resilin/base/error.h"
#include "resilin/base/reflect.h"
#include "resilin/base/text.h"

namespace resilin::dist {

/// PeerLost to Aborted revoke the generation everywhere; Replaced, Evicted and Destroyed are this process's own.
enum class FailureKind : std::uint8_t { None, PeerLost, PeerLeft, Timeout, Mismatch, Aborted, Replaced, Evicted, Destroyed };
constexpr std::array<std::string_view, 9> enum_names(FailureKind*) {
  return {"none", "peer_lost", "peer_left", "timeout", "mismatch", "aborted", "replaced", "evicted", "destroyed"};
}
constexpr bool revokes(FailureKind kind) { return kind > FailureKind::None && kind < FailureKind::Replaced; }

struct Failure {
  FailureKind kind = FailureKind::None;
  std::string text = {};
  std::vector<i64> ranks = {};  // of the group: the culprits, as far as they are known
  i64 origin = -1;              // the rank that found out
  static constexpr auto fields() {
    return std::tuple{field("kind", &Failure::kind), field("text", &Failure::text), field("ranks", &Failure::ranks),
                      field("origin", &Failure::origin)};
  }
};

/// The exception of the kind. `work` says which operation, and begins the message.
[[noreturn]] void throw_failure(const Failure& failure, const std::string& work, DistPlace place);

}  // namespace resilin::dist
