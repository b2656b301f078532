// src/resilin/dist/launch/rank_info.cpp -- the environment of a rank, written and read.
#include "resilin/dist/launch/rank_info.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/base/reflect.h"
#include "resilin/dist/environment.h"

namespace resilin::dist {
namespace {

struct NumberRow {
  std::string_view name;
  i64 RankInfo::*member;
};
constexpr NumberRow kNumbers[] = {
    {"RANK", &RankInfo::rank},
    {"LOCAL_RANK", &RankInfo::local_rank},
    {"WORLD_SIZE", &RankInfo::world_size},
    {"LOCAL_WORLD_SIZE", &RankInfo::local_world_size},
    {"GROUP_RANK", &RankInfo::group_rank},
    {"GROUP_WORLD_SIZE", &RankInfo::group_world_size},
    {"ROLE_RANK", &RankInfo::rank},
    {"ROLE_WORLD_SIZE", &RankInfo::world_size},
    {"MASTER_PORT", &RankInfo::master_port},
    {"TORCHELASTIC_RESTART_COUNT", &RankInfo::restart_count},
    {"TORCHELASTIC_MAX_RESTARTS", &RankInfo::max_restarts},
    {"RESILIN_RUNTIME_THREADS", &RankInfo::threads},
};

struct TextRow {
  std::string_view name;
  std::string RankInfo::*member;
};
constexpr TextRow kTexts[] = {
    {"MASTER_ADDR", &RankInfo::master_addr},         {"ROLE_NAME", &RankInfo::role},
    {"TORCHELASTIC_RUN_ID", &RankInfo::run_id},      {"TORCHELASTIC_ERROR_FILE", &RankInfo::error_file},
    {"RESILIN_STORE", &RankInfo::store_address},     {"RESILIN_AGENT", &RankInfo::agent_address},
    {"RESILIN_SECRET_FILE", &RankInfo::secret_file},
};

constexpr std::string_view kInstance = "RESILIN_INSTANCE";
constexpr std::string_view kSecretDescriptor = "RESILIN_SECRET_FD";
constexpr std::string_view kAgentStore = "TORCHELASTIC_USE_AGENT_STORE";
constexpr std::string_view kOmpThreads = "OMP_NUM_THREADS";

i64 parse_variable(std::string_view name, const std::string& text) {
  try {
    return parse_integer(text);
  } catch (const ArgumentError&) {
    throw ArgumentError(cat("rank_info: ", name, " is \"", text, "\"; the launcher writes a number"));
  }
}

/// What other launchers call the same numbers, and what tells their jobs apart.
struct Launcher {
  std::string_view rank, world_size, local_rank, local_world_size, group_rank, group_world_size;
  std::string_view name;
  std::array<std::string_view, 3> job;
};
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     "",
     "",
     "mpi",
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", ""}},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "", "", "mpi", {}},
    {"SLURM_PROCID",
     "SLURM_NTASKS",
     "SLURM_LOCALID",
     "",
     "SLURM_NODEID",
     "SLURM_STEP_NUM_NODES",
     "slurm",
     {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
};

void read_launcher(const Launcher& launcher, const Environment& environment, RankInfo& rank) {
  const auto read = [&](std::string_view name, i64& number) {
    if (name.empty()) return;
    if (const std::optional<std::string> text = environment(std::string(name))) number = parse_variable(name, *text);
  };
  read(launcher.rank, rank.rank);
  read(launcher.world_size, rank.world_size);
  read(launcher.local_rank, rank.local_rank);
  read(launcher.local_world_size, rank.local_world_size);
  read(launcher.group_rank, rank.group_rank);
  i64 hosts = 0;
  read(launcher.group_world_size, hosts);
  if (hosts > 0) rank.group_world_size = hosts;
  if (hosts == 1) rank.local_world_size = rank.world_size;
  for (const std::string_view name : launcher.job) {
    if (const std::optional<std::string> part = environment(std::string(name))) rank.run_id += cat("-", *part);
  }
  if (!rank.run_id.empty()) rank.run_id = cat(launcher.name, rank.run_id);
}

/// Ranks that meet at this host's own address can be nowhere else.
bool meets_here(const RankInfo& rank) {
  return rank.master_addr.empty() || rank.master_addr == "localhost" || rank.master_addr == "::1" || rank.master_addr.starts_with("127.");
}

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

}  // namespace

std::optional<RankInfo> read_rank_info(const Environment& environment) {
  RankInfo rank;
  const bool has_rank = environment("RANK").has_value();
  bool found = has_rank;
  for (const Launcher& launcher : kLaunchers) {
    if (found || !environment(std::string(launcher.rank))) continue;
    read_launcher(launcher, environment, rank);
    found = true;
  }
  if (!found) return std::nullopt;
  for (const NumberRow& row : kNumbers) {
    if (const std::optional<std::string> text = environment(std::string(row.name))) rank.*row.member = parse_variable(row.name, *text);
  }
  for (const TextRow& row : kTexts) {
    if (std::optional<std::string> text = environment(std::string(row.name))) rank.*row.member = std::move(*text);
  }
  if (has_rank && !environment("LOCAL_WORLD_SIZE") && meets_here(rank)) rank.local_world_size = rank.world_size;
  if (const std::optional<std::string> text = environment(std::string(kInstance))) rank.instance = detail::parse_unsigned(*text);
  if (const std::optional<std::string> text = environment(std::string(kSecretDescriptor))) {
    rank.secret_descriptor = static_cast<int>(parse_variable(kSecretDescriptor, *text));
  }
  return rank;
}

std::optional<RankInfo> rank_info() { return read_rank_info(environment_variable); }

std::vector<std::string> rank_environment(const RankInfo& rank, const std::vector<std::string>& base) {
  std::vector<std::string> result;
  const auto put = [&result](std::string_view name, const auto& value) { result.push_back(cat(name, "=", value)); };
  for (const NumberRow& row : kNumbers) put(row.name, rank.*row.member);
  for (const TextRow& row : kTexts) {
    if (!(rank.*row.member).empty()) put(row.name, rank.*row.member);
  }
  put(kInstance, rank.instance);
  // Programs of PyTorch host a store of their own at MASTER_ADDR: ours speaks another protocol.
  put(kAgentStore, "False");
  if (rank.secret_descriptor >= 0) put(kSecretDescriptor, rank.secret_descriptor);
  const auto is_ours = [&result](std::string_view name) {
    return std::ranges::any_of(result, [name](const std::string& ours) { return name_of(ours) == name; });
  };
  const bool has_threads = std::ranges::any_of(base, [](const std::string& variable) { return name_of(variable) == kOmpThreads; });
  std::vector<std::string> kept;
  for (const std::string& variable : base) {
    const std::string_view name = name_of(variable);
    if (!is_ours(name) && name != kSecretDescriptor && name != "RESILIN_SECRET_FILE") kept.push_back(variable);
  }
  if (!has_threads) put(kOmpThreads, rank.threads);
  result.insert(result.end(), kept.begin(), kept.end());
  return result;
}

}  // namespace resilin::dist
