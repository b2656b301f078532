// tests/dist/launch/foreign_ranks.h -- Internal: ranks as srun starts them, and the agent that they start for themselves.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/text.h"
#include "resilin/dist/agent/spawn.h"
#include "resilin/dist/launch/run_folder.h"

#include "tests/support/launcher.h"

namespace resilin::dist::launch {

/// Processes with srun's variables, and no other of a launcher. They are killed and reaped with this object, and their agent with them.
class ForeignRanks {
 public:
  ForeignRanks(const testing::TemporaryFolder& out, int size, const std::string& test_case, const std::string& mode, int step = 0)
      : out_(out.path()), job_(cat("slurm-", getpid(), "-", step)) {
    for (int rank = 0; rank < size; ++rank) start(rank, size, test_case, mode, step);
  }
  ~ForeignRanks() {
    ranks_.clear();
    if (const std::optional<pid_t> left = agent()) kill(*left, SIGKILL);
    remove_abandoned(run_base());
  }
  ForeignRanks(const ForeignRanks&) = delete;
  ForeignRanks& operator=(const ForeignRanks&) = delete;

  /// The exit code of a rank, or minus the signal that ended it; nothing when it goes on for so long.
  std::optional<int> wait(int rank, int within_s = 20) {
    Child& child = *ranks_[static_cast<std::size_t>(rank)];
    pollfd waited{child.descriptor(), POLLIN, 0};
    if (poll(&waited, 1, within_s * 1000) != 1) return std::nullopt;
    const std::optional<ProcessEnd> end = child.reap();
    REQUIRE(end.has_value());
    return end->kind == ProcessEnd::Kind::Signalled ? -end->signal : end->code;
  }
  pid_t process(int rank) const { return ranks_[static_cast<std::size_t>(rank)]->process(); }
  std::optional<int> rank_of(pid_t process) const {
    const auto at = std::ranges::find(ranks_, process, [](const std::unique_ptr<Child>& rank) { return rank->process(); });
    return at == ranks_.end() ? std::nullopt : std::optional(static_cast<int>(at - ranks_.begin()));
  }
  /// The process that watches them.
  std::optional<pid_t> agent() const {
    std::error_code gone;
    for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator("/proc", gone)) {
      const std::string name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      if (read_proc(entry.path().string() + "/cmdline").find(cat("--rdzv-id=", job_, '\0')) != std::string::npos) return std::stoi(name);
    }
    return std::nullopt;
  }
  /// Folders that agents of this job have, or left.
  std::vector<std::string> folders() const {
    std::vector<std::string> found;
    std::error_code gone;
    for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(run_base(), gone)) {
      if (entry.path().filename().string().starts_with(job_ + "-")) found.push_back(entry.path().string());
    }
    return found;
  }
  std::string log() const { return read_or_empty(out_ + "/log"); }

 private:
  void start(int rank, int size, const std::string& test_case, const std::string& mode, int step) {
    Program program;
    program.arguments = with_test_case({}, mode, test_case);
    for (char** variable = environ; *variable != nullptr; ++variable) program.environment.emplace_back(*variable);
    for (const std::string& variable :
         {cat("SLURM_PROCID=", rank), cat("SLURM_LOCALID=", rank), cat("SLURM_NTASKS=", size), std::string("SLURM_NODEID=0"),
          std::string("SLURM_STEP_NUM_NODES=1"), cat("SLURM_JOB_ID=", getpid()), cat("SLURM_STEP_ID=", step), "OUT=" + out_,
          "RESILIN_RECORDER_DIR=" + out_}) {
      program.environment.push_back(variable);
    }
    const Descriptor log(open((out_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    program.out = program.err = log.get();
    ranks_.push_back(std::make_unique<Child>(program));
  }

  const std::string out_;
  const std::string job_;
  std::vector<std::unique_ptr<Child>> ranks_;
};

}  // namespace resilin::dist::launch
