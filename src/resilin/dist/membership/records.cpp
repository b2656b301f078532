// src/resilin/dist/membership/records.cpp -- what the reconfigure protocol keeps in the store, and under which keys.
#include "resilin/dist/membership/records.h"

#include <algorithm>

#include "resilin/base/error.h"
#include "resilin/base/hash.h"

namespace resilin::dist {
namespace {

constexpr std::string_view kHandlePrefix = "resilin:";
// 16 bytes each: the value stays below the 1 MiB that a store takes.
constexpr std::size_t kMostRuns = 65'000;

}  // namespace

std::string print_handle(const Handle& handle) { return cat(kHandlePrefix, handle.instance, ':', handle.generation); }

Handle parse_handle(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  try {
    if (text.starts_with(kHandlePrefix) && colon >= kHandlePrefix.size()) {
      const std::string_view instance = text.substr(kHandlePrefix.size(), colon - kHandlePrefix.size());
      return {detail::parse_unsigned(instance), detail::parse_unsigned(text.substr(colon + 1))};
    }
  } catch (const ArgumentError&) {  // said below, with the whole text
  }
  throw ArgumentError(cat("reconfigure: Invalid handle: \"", text, "\"; it must be what reconfigure_handle() gave"));
}

bool UsedUuids::contains(std::uint64_t uuid) const {
  return std::any_of(runs.begin(), runs.end(), [&](const Pair& run) { return run.first <= uuid && uuid <= run.second; });
}

void UsedUuids::insert(std::uint64_t uuid) {
  if (!runs.empty() && runs.back().second + 1 == uuid) {
    runs.back().second = uuid;
  } else {
    runs.push_back({uuid, uuid});
  }
  if (runs.size() > kMostRuns) runs.erase(runs.begin());
}

std::string revoke_key(std::uint64_t generation) { return cat("revoke/", generation); }
std::string try_key(std::uint64_t uuid) { return cat("try/", uuid); }
std::string over_key(std::uint64_t uuid) { return cat("over/", uuid); }
std::string address_key(std::uint64_t uuid, std::uint64_t instance) { return cat("try/", uuid, "/address/", instance); }
std::string ready_key(std::uint64_t uuid, std::uint64_t instance) { return cat("try/", uuid, "/ready/", instance); }

std::uint64_t digest_of(std::uint64_t uuid, const Handles& handles, bool lineage) {
  std::uint64_t digest = hash_mix(uuid, lineage ? 1 : 0);
  for (const Handle& handle : handles) digest = hash_mix(hash_mix(digest, handle.instance), handle.generation);
  return digest;
}

int rank_of(const Handles& handles, std::uint64_t instance) {
  const auto is_it = [&](const Handle& handle) { return handle.instance == instance; };
  const Handles::const_iterator at = std::find_if(handles.begin(), handles.end(), is_it);
  return at == handles.end() ? -1 : static_cast<int>(at - handles.begin());
}

bool continues_base(const Handles& handles, std::uint64_t base) {
  const auto belongs = [&](const Handle& handle) { return handle.generation == base || handle.generation == 0; };
  const auto is_of_base = [&](const Handle& handle) { return handle.generation == base; };
  return std::ranges::all_of(handles, belongs) && std::ranges::any_of(handles, is_of_base);
}

}  // namespace resilin::dist
