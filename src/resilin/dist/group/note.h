// src/resilin/dist/group/note.h -- Internal: what the ranks of a mesh tell each other besides collectives.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "resilin/base/reflect.h"
#include "resilin/dist/group/failure.h"
#include "resilin/dist/membership/records.h"
#include "resilin/dist/wire/identity.h"

namespace resilin::dist::note {

/// The first word of a peer: what it believes to join, and how its memory is reached.
struct Hello {
  Identity identity;
  std::uint64_t instance = 0;
  std::uint64_t uuid = 0;
  std::uint64_t generation = 0;
  std::uint64_t digest = 0;
  std::int64_t launch_rank = 0;
  std::int64_t process = 0;
  std::uint64_t probe_address = 0;
  std::uint64_t probe_word = 0;
  static constexpr auto fields() {
    return std::tuple{field("identity", &Hello::identity),
                      field("instance", &Hello::instance),
                      field("uuid", &Hello::uuid),
                      field("generation", &Hello::generation),
                      field("digest", &Hello::digest),
                      field("launch_rank", &Hello::launch_rank),
                      field("process", &Hello::process),
                      field("probe_address", &Hello::probe_address),
                      field("probe_word", &Hello::probe_word)};
  }
};

/// The generation does not work any more.
struct Revoke {
  std::uint64_t generation = 0;
  Failure failure;
  static constexpr auto fields() { return std::tuple{field("generation", &Revoke::generation), field("failure", &Revoke::failure)}; }
};

/// A copy of what the store decided.
struct Decision {
  Attempt attempt;
  static constexpr auto fields() { return std::tuple{field("attempt", &Decision::attempt)}; }
};

/// The sender goes in good order.
struct Leave {
  std::uint64_t generation = 0;
  static constexpr auto fields() { return std::tuple{field("generation", &Leave::generation)}; }
};

/// The answer to a Leave: it has come, and so has all that was sent before it.
struct Farewell {
  std::uint64_t generation = 0;
  static constexpr auto fields() { return std::tuple{field("generation", &Farewell::generation)}; }
};

/// A window's work where its memory cannot be shared. Signals and puts have no reply; a flush's reply comes after all of them.
struct WindowMessage {
  enum class Kind : std::uint8_t { Put, Get, FetchAdd, CompareSwap, Signal, Flush, Reply };
  friend constexpr std::array<std::string_view, 7> enum_names(Kind*) {
    return {"put", "get", "fetch_add", "compare_swap", "signal", "flush", "reply"};
  }
  std::uint64_t window = 0;
  Kind kind = Kind::Put;
  std::uint64_t operation = 0;  // of the asker, back in the reply
  std::uint64_t rank = 0;       // whose memory; not sent
  std::uint64_t offset = 0;     // of the memory, or the slot of a Signal
  std::uint64_t first = 0;      // bytes to get, amount to add, number that is expected
  std::uint64_t second = 0;     // number that is desired
  std::string bytes = {};
  static constexpr auto fields() {
    return std::tuple{field("window", &WindowMessage::window),       field("kind", &WindowMessage::kind),
                      field("operation", &WindowMessage::operation), field("offset", &WindowMessage::offset),
                      field("first", &WindowMessage::first),         field("second", &WindowMessage::second),
                      field("bytes", &WindowMessage::bytes)};
  }
};

using Note = std::variant<Hello, Revoke, Decision, Leave, Farewell, WindowMessage>;

}  // namespace resilin::dist::note
