// src/resilin/dist/launch/rank_info.h -- RankInfo: what the launcher told this process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "resilin/base/api.h"
#include "resilin/base/text.h"

namespace resilin::dist {

/// A rank that waited for the store in vain ends with this code: others were lost before it.
inline constexpr int kExitStoreLost = 75;

/// The place of a process in its job, as `resilin run` writes it into the environment of each rank.
struct RankInfo {
  i64 rank = 0;
  i64 local_rank = 0;
  i64 world_size = 1;
  i64 local_world_size = 1;
  i64 group_rank = 0;        // number of the host
  i64 group_world_size = 1;  // hosts
  i64 restart_count = 0;     // lives that this rank had before
  i64 max_restarts = 0;
  std::uint64_t instance = 0;  // this life, by a counter of the job's store: a smaller one is older
  std::string run_id;
  std::string role = "default";
  std::string master_addr;  // free for the program's own use, as PyTorch's programs have it
  i64 master_port = 0;
  std::string store_address;  // of the job's store, "unix:..." or "tcp:..."
  std::string agent_address;  // of the agent of this host; empty without one
  std::string secret_file;    // one of these two holds the job's secret
  int secret_descriptor = -1;
  std::string error_file;  // where a failing rank says why
  i64 threads = 1;         // its share of the host's processors
};

/// The value of an environment variable; nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// Reads what `rank_environment` wrote, or what mpirun (OMPI_*, PMI_*) and srun (SLURM_*) say; nothing when no launcher started this
/// process. ArgumentError naming a variable that is damaged.
RESILIN_API std::optional<RankInfo> read_rank_info(const Environment& environment);
/// Of this process.
RESILIN_API std::optional<RankInfo> rank_info();

/// The variables of a rank, "NAME=value": torchrun's, and RESILIN_STORE, RESILIN_AGENT, RESILIN_INSTANCE, RESILIN_SECRET_FD or
/// RESILIN_SECRET_FILE. Those of `base` with other names are kept; OMP_NUM_THREADS is set where `base` has none.
std::vector<std::string> rank_environment(const RankInfo& rank, const std::vector<std::string>& base);

}  // namespace resilin::dist
