// tests/tool/soak_job.h -- Internal: a job of real processes that train the exact task until they are told to stop, as its test sees it.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "resilin/base/text.h"

#include "tests/support/launcher.h"

#include "tools/resilin/follow.h"

namespace resilin::tool::soak {

inline constexpr i64 kRanks = 4;
/// The test case that a rank runs, with RESILIN_TEST_RANK="FEATURES SECONDS": the size of its state, and the deadline of a step.
inline constexpr const char* kRankCase = "a rank that trains the exact task";

struct JobOptions {
  i64 features = 20'000;
  i64 deadline_s = 10;
  i64 restarts = 20;
  unsigned most_s = 100;
};

/// What the events say of a generation.
struct GenerationSeen {
  std::vector<i64> members;  // launch ranks
  bool has_joiner = false;
  std::map<i64, i64> first_step_us;  // by launch rank
  bool is_whole() const { return static_cast<i64>(first_step_us.size()) == kRanks; }
};

/// The last words of a rank.
struct RankEnd {
  i64 step = 0;
  std::string digest;
};

/// Where the ledgers of a job end at one moment, at which none of its ranks ran.
using LedgerCut = std::map<std::string, std::uintmax_t>;

class SoakJob {
 public:
  explicit SoakJob(const JobOptions& options);

  /// Reads what has happened since. Then:
  void look();
  i64 last_step() const { return last_step_; }
  i64 newest_generation() const { return generations_.empty() ? 0 : generations_.rbegin()->first; }
  const std::map<i64, GenerationSeen>& generations() const { return generations_; }
  pid_t process_of(i64 rank) const { return static_cast<pid_t>(processes_.at(rank)); }
  i64 life_of(i64 rank) const { return lives_.at(rank); }
  i64 started_us(i64 rank) const { return started_us_.at(rank); }
  const std::set<pid_t>& all_processes() const { return all_processes_; }
  const std::map<i64, RankEnd>& ends() const { return ends_; }
  i64 heals() const { return heals_; }
  const std::vector<std::string>& errors() const { return errors_; }  // that ended works

  /// Looks until it is so; false when it is not within the time.
  bool comes(const std::function<bool()>& is_so, i64 within_s, useconds_t look_us = 2000);
  /// The first generation after this one in which all ranks have taken a step; 0: none came.
  i64 whole_after(i64 generation, i64 within_s = 60);
  /// When the first step was committed in a generation after this one.
  std::optional<i64> next_step_us(i64 generation) const;

  /// Stops all ranks for a moment. What a ledger has then is what a crash of all would leave.
  LedgerCut cut();
  /// A folder with the ledgers up to there.
  std::string folder_at(const LedgerCut& cut) const;

  /// All leave after the same step; gives back the launcher's code.
  int end();
  std::string folder() const { return out_.path(); }
  std::string name() const { return name_; }
  std::string log() const { return launcher_.log(); }

 private:
  void take(const Event& event);

  const std::string name_;
  const resilin::testing::TemporaryFolder out_;
  dist::launch::Launcher launcher_;
  EventTail tail_;
  std::map<i64, i64> processes_, lives_, started_us_;  // by launch rank
  std::set<pid_t> all_processes_;
  std::map<i64, GenerationSeen> generations_;
  std::map<i64, RankEnd> ends_;
  std::vector<std::string> errors_;
  i64 last_step_ = -1;
  i64 heals_ = 0;
};

/// Descriptors that a process has open; 0 when it is gone.
std::size_t descriptors_of(pid_t process);
i64 resident_kib_of(pid_t process);

/// Shared memory that is of no use to anybody: System V segments that one of these processes made, and files of this name or that no process has mapped.
std::vector<std::string> shared_memory_left(const std::set<pid_t>& processes, const std::string& name, const std::set<std::string>& before);
std::set<std::string> shared_memory_files();

}  // namespace resilin::tool::soak
