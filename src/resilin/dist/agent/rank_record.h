// src/resilin/dist/agent/rank_record.h -- Internal: what agents write about ranks into the store, and what they look for there.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "resilin/base/reflect.h"
#include "resilin/dist/agent/machine.h"

namespace resilin::dist {

/// The newest that the agent of a rank knows of it, under `rank_key`. Watching the key tells of a death at once.
struct RankRecord {
  RankState state = RankState::Running;
  std::uint64_t instance = 0;  // of the life that the state is of
  i64 life = 0;                // processes that had this rank before
  i64 node = 0;
  i64 process = 0;
  std::string text;  // how it ended, why it is suspected
  static constexpr auto fields() {
    return std::tuple{field("state", &RankRecord::state), field("instance", &RankRecord::instance), field("life", &RankRecord::life),
                      field("node", &RankRecord::node),   field("process", &RankRecord::process),   field("text", &RankRecord::text)};
  }
};

/// A wish that the agent of a rank ends it, under `evict_key`. It counts for this life alone.
struct EvictOrder {
  std::uint64_t instance = 0;
  std::string reason;
  static constexpr auto fields() { return std::tuple{field("instance", &EvictOrder::instance), field("reason", &EvictOrder::reason)}; }
};

inline std::string rank_key(i64 rank) { return cat("rank/", rank); }
inline std::string evict_key(i64 rank) { return cat("evict/", rank); }
/// Set when the job has failed on a host: the reason. Every agent ends its ranks.
inline std::string job_failed_key(i64 node) { return cat("job/failed/", node); }
/// A lease of each agent; its end means that the host or its agent is gone.
inline std::string agent_key(i64 node) { return cat("agent/", node); }

}  // namespace resilin::dist
