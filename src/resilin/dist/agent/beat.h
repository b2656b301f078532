// src/resilin/dist/agent/beat.h -- Internal: what a rank tells its agent.
#pragma once

#include <cstdint>
#include <tuple>

#include "resilin/base/reflect.h"
#include "resilin/base/text.h"

namespace resilin::dist {

struct BeatMessage {
  std::uint64_t instance = 0;  // this life of the rank
  i64 rank = 0;
  i64 step = -1;
  std::uint64_t sequence = 0;  // of the last collective that it started
  bool leaving = false;
  static constexpr auto fields() {
    return std::tuple{field("instance", &BeatMessage::instance, "Life of the rank."), field("rank", &BeatMessage::rank, "Its number."),
                      field("step", &BeatMessage::step, "Step it is in."),
                      field("sequence", &BeatMessage::sequence, "Last collective that it started."),
                      field("leaving", &BeatMessage::leaving, "It goes in good order.")};
  }
};

}  // namespace resilin::dist
