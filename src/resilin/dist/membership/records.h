// src/resilin/dist/membership/records.h -- Internal: what the reconfigure protocol keeps in the store, and under which keys.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "resilin/base/reflect.h"

namespace resilin::dist {

/// Names a member: one life of a process and the generation it has installed, 0 before the first. So it changes with each install.
/// Instances are numbers of the store's counter: a smaller one is older.
struct Handle {
  std::uint64_t instance = 0;
  std::uint64_t generation = 0;
  static constexpr auto fields() { return std::tuple{field("instance", &Handle::instance), field("generation", &Handle::generation)}; }
  friend auto operator<=>(const Handle&, const Handle&) = default;
};
using Handles = std::vector<Handle>;

/// "resilin:12:3" as users pass it around. ArgumentError when the text is none.
std::string print_handle(const Handle& handle);
Handle parse_handle(std::string_view text);

/// Two instances that cannot reach each other.
struct Pair {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  static constexpr auto fields() { return std::tuple{field("first", &Pair::first), field("second", &Pair::second)}; }
  friend auto operator<=>(const Pair&, const Pair&) = default;
};

/// The life of try/U: Open, then one of the others for ever.
enum class Verdict { Open, Commit, Abort };
constexpr std::array<std::string_view, 3> enum_names(Verdict*) { return {"open", "commit", "abort"}; }

/// Why an attempt failed. Digest: two lists under one uuid. StaleHandle: a listed member has installed something newer. Stale: cur moved.
/// NoMesh: a member could not make its end of the mesh.
enum class AbortReason { None, Digest, StaleHandle, Unreachable, Suspected, Timeout, Stale, NoOverlap, Withdrawn, NoMesh };
constexpr std::array<std::string_view, 10> enum_names(AbortReason*) {
  return {"none", "digest", "stale_handle", "unreachable", "suspected", "timeout", "stale", "no_overlap", "withdrawn", "no_mesh"};
}

/// The value of try/U.
struct Attempt {
  Verdict verdict = Verdict::Open;
  std::uint64_t uuid = 0;
  std::uint64_t generation = 0;    // the one that COMMIT makes
  std::uint64_t base = 0;          // cur's generation at OPEN, 0 when there was none
  std::uint64_t base_version = 0;  // cur's version at OPEN
  bool lineage = false;            // COMMIT moves cur
  Handles handles = {};            // position = rank
  std::uint64_t digest = 0;
  std::vector<std::string> blobs = {};  // of COMMIT, by rank
  AbortReason reason = AbortReason::None;
  std::vector<std::uint64_t> culprits = {};
  std::vector<Pair> pairs = {};
  std::string text = {};  // what the one who aborted it has to say
  static constexpr auto fields() {
    return std::tuple{field("verdict", &Attempt::verdict),
                      field("uuid", &Attempt::uuid),
                      field("generation", &Attempt::generation),
                      field("base", &Attempt::base),
                      field("base_version", &Attempt::base_version),
                      field("lineage", &Attempt::lineage),
                      field("handles", &Attempt::handles),
                      field("digest", &Attempt::digest),
                      field("blobs", &Attempt::blobs),
                      field("reason", &Attempt::reason),
                      field("culprits", &Attempt::culprits),
                      field("pairs", &Attempt::pairs),
                      field("text", &Attempt::text)};
  }
};

/// The value of cur: the newest generation of the lineage. The members' handles are (instance, generation).
struct Current {
  std::uint64_t generation = 0;
  std::vector<std::uint64_t> members = {};
  std::vector<std::string> blobs = {};
  static constexpr auto fields() {
    return std::tuple{field("generation", &Current::generation), field("members", &Current::members), field("blobs", &Current::blobs)};
  }
};

/// The value of try/U/ready/i. The blob is what the member wants all others to know, at most kMostBlobBytes.
struct Ready {
  std::uint64_t generation = 0;
  std::string blob = {};
  static constexpr auto fields() { return std::tuple{field("generation", &Ready::generation), field("blob", &Ready::blob)}; }
};
inline constexpr std::size_t kMostBlobBytes = 256;

/// The value of plan: the attempt that the Coordinator opened last. What is left of the one before goes with the next.
struct Plan {
  std::uint64_t uuid = 0;
  Handles handles = {};
  std::uint64_t before = 0;  // uuid, 0 for none
  std::vector<std::uint64_t> before_members = {};
  static constexpr auto fields() {
    return std::tuple{field("uuid", &Plan::uuid), field("handles", &Plan::handles), field("before", &Plan::before),
                      field("before_members", &Plan::before_members)};
  }
};

/// The value of revoke/g, g being cur's generation: its Work has failed. The first member that found it out says whom it lost; a Coordinator
/// says whom detectors suspect. The key goes when cur moves. revoke/0 tells whoever wants to join that all members of that generation have ended.
struct Revocation {
  std::uint64_t generation = 0;
  std::uint64_t origin = 0;  // an instance; 0: a Coordinator
  std::vector<std::uint64_t> lost = {};
  static constexpr auto fields() {
    return std::tuple{field("generation", &Revocation::generation), field("origin", &Revocation::origin), field("lost", &Revocation::lost)};
  }
};

/// The value of used: the uuids that were opened, the last 65,536 of them at least. Numbers that follow each other take one entry.
struct UsedUuids {
  std::vector<Pair> runs = {};  // first and last of each
  bool contains(std::uint64_t uuid) const;
  void insert(std::uint64_t uuid);
  static constexpr auto fields() { return std::tuple{field("runs", &UsedUuids::runs)}; }
};

inline constexpr const char* kInstancesKey = "instances";  // a counter: the number of the youngest instance
inline constexpr const char* kTopKey = "top";
inline constexpr const char* kCurrentKey = "cur";
inline constexpr const char* kUsedKey = "used";
inline constexpr const char* kPlanKey = "plan";
inline constexpr const char* kJoinersKey = "joiners";  // instances that want to become members, 8 bytes each
std::string revoke_key(std::uint64_t generation);
std::string try_key(std::uint64_t uuid);
/// What became of an aborted list, for members that come later: as try/U was. It goes by itself after kOverMs.
std::string over_key(std::uint64_t uuid);
inline constexpr std::uint64_t kOverMs = 600'000;
std::string address_key(std::uint64_t uuid, std::uint64_t instance);
std::string ready_key(std::uint64_t uuid, std::uint64_t instance);

/// What all members of an attempt must have been told alike.
std::uint64_t digest_of(std::uint64_t uuid, const Handles& handles, bool lineage);
/// The rank of an instance; -1 when it is not listed.
int rank_of(const Handles& handles, std::uint64_t instance);
/// A list of the lineage: its members are of base or new, and one at least is of base. The first list of a lineage has new ones only.
bool continues_base(const Handles& handles, std::uint64_t base);

}  // namespace resilin::dist
