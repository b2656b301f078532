// src/resilin/dist/group/init.cpp -- from the launcher's environment to a group that works.
#include "resilin/dist/group/init.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "resilin/base/config.h"
#include "resilin/base/cpu_count.h"
#include "resilin/base/error.h"
#include "resilin/base/hash.h"
#include "resilin/base/text.h"
#include "resilin/dist/agent/heartbeat.h"
#include "resilin/dist/launch/host_agent.h"
#include "resilin/dist/launch/job_store.h"
#include "resilin/dist/launch/rank_info.h"
#include "resilin/dist/recorder/recorder.h"
#include "resilin/dist/transport/ucx.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;

/// The store may be away for so long before requests to it fail; they are repeated all the same.
constexpr milliseconds kStoreGrace{3000};

struct Place {
  RankInfo info;
  bool has_launcher = false;
};

Place place_of(const InitOptions& options) {
  Place place;
  if (const std::optional<RankInfo> info = rank_info()) place = {*info, true};
  if (options.rank >= 0) place.info.rank = options.rank;
  if (options.size >= 0) place.info.world_size = options.size;
  const bool is_known = place.has_launcher || (options.rank >= 0 && options.size > 0);
  if (!is_known) {
    throw ArgumentError(
        "init_process_group: rank and size are not known: neither the options nor the environment (RANK, WORLD_SIZE) say them; "
        "resilin run sets them");
  }
  if (place.info.rank >= place.info.world_size) {
    throw ArgumentError(cat("init_process_group: rank is ", place.info.rank, " of ", place.info.world_size, "; ranks begin at 0"));
  }
  if (!place.has_launcher) place.info.local_world_size = place.info.world_size;
  return place;
}

/// Polling is for ranks that have a processor each.
std::chrono::nanoseconds spin_of(const RankInfo& info) {
  const i64 asked = config::integer("dist.spin_us");
  if (asked >= 0) return std::chrono::microseconds(asked);
  const i64 threads = info.local_world_size * std::max<i64>(1, info.threads);
  return threads <= usable_cpu_count() ? std::chrono::microseconds(100) : std::chrono::microseconds(0);
}

/// Recordings of dead processes are kept for a day, those of a job in a folder of its own.
void remove_old_recordings(const std::string& base) {
  std::error_code failure;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(base, failure)) {
    if (!entry.is_directory(failure)) continue;
    const std::size_t removed = remove_dead_recordings(entry.path(), wall_clock_now() - std::chrono::hours(24));
    if (removed != 0) std::filesystem::remove(entry.path(), failure);  // where nothing is left
  }
}

/// Ids are the user's; the store's address is each job's own.
std::string folder_name(const RankInfo& info) {
  std::string name = cat(info.run_id.empty() ? "job" : info.run_id, "-", hash_text(info.store_address) % 1'000'000);
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_'; }, '_');
  return name;
}

std::shared_ptr<Recorder> make_recorder(const InitOptions& options, const RankInfo& info, std::uint64_t instance) {
  if (!options.records) return nullptr;
  RecorderOptions recorder = machine_recorder_options();
  remove_old_recordings(recorder.folder);
  recorder.folder += cat("/", folder_name(info));
  recorder.job = info.run_id;
  recorder.backend = "ucx";
  recorder.rank = static_cast<std::int32_t>(info.rank);
  recorder.world = static_cast<std::int32_t>(info.world_size);
  recorder.instance = instance;
  return std::make_shared<Recorder>(recorder, machine_clock());
}

/// Everybody's handle, by rank, and a number that only this life of the job uses.
ReconfigureOptions meet(Store& store, const InitOptions& options, const RankInfo& info, const std::string& handle) {
  const std::string prefix = cat("init/", options.name, "/", info.restart_count, "/");
  store.set(cat(prefix, info.rank), handle);
  if (info.rank == 0) store.set(prefix + "uuid", cat(store.add("uuids", 1)));
  ReconfigureOptions reconfigure;
  for (i64 rank = 0; rank < info.world_size; ++rank) {
    const std::string key = cat(prefix, rank);
    try {
      store.wait({key}, options.timeout);
    } catch (const TimeoutError&) {
      throw TimeoutError(
          cat("init_process_group: rank ", rank, " of ", info.world_size, " did not come in ", options.timeout.count(), " ms"));
    }
    reconfigure.handles.push_back(store.get(key));
  }
  reconfigure.uuid = static_cast<std::uint64_t>(parse_integer(store.get(prefix + "uuid", options.timeout)));
  return reconfigure;
}

}  // namespace

ProcessGroup init_process_group(const InitOptions& options) {
  Place place = place_of(options);
  const bool is_of_job = place.has_launcher && options.store == nullptr;
  const bool is_foreign = is_of_job && place.info.instance == 0;  // no agent of ours is its parent
  if (is_of_job && place.info.store_address.empty()) find_host_agent(place.info);
  GroupOptions group;
  group.name = options.name;
  group.store = options.store != nullptr ? options.store : connect_job_store(place.info, std::min(kStoreGrace, options.store_grace));
  group.transport = options.transport != nullptr ? options.transport : ucx_transport({.interface = config::text("dist.interface")});
  group.membership = options.membership;
  group.store_grace = options.store_grace;
  // A group's instance is the life that the launcher has counted.
  group.instance = is_of_job ? place.info.instance : 0;
  if (group.instance == 0) group.instance = static_cast<std::uint64_t>(group.store->add("instances", 1));
  group.launch_rank = place.info.rank;
  group.spin = spin_of(place.info);
  group.recorder = make_recorder(options, place.info, group.instance);
  if (place.has_launcher && !place.info.agent_address.empty()) group.heartbeat = std::make_shared<Heartbeat>(place.info);
  group.tells_agent_of_leave = is_foreign;
  group.changes = options.changes;
  ProcessGroup made(std::move(group));
  if (options.membership == Membership::Lineage) {
    made.await_generation(0, options.timeout);
  } else {
    made.reconfigure(meet(*made.store(), options, place.info, made.reconfigure_handle()));
  }
  return made;
}

}  // namespace resilin::dist
