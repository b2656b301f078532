// tests/tool/train_job.h -- Internal: jobs of `resilin train` as their test sees them: what their files say.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "resilin/base/event_log.h"
#include "resilin/base/text.h"
#include "resilin/io/checkpoint.h"

#include "tests/support/launcher.h"

namespace resilin::tool {

/// A small text, and a configuration that learns it.
void write_small_task(const std::string& folder);

/// A launcher whose ranks run `resilin train` in the folder RUN of `place`, with words after the configuration's.
class TrainingJob {
 public:
  TrainingJob(const resilin::testing::TemporaryFolder& place, const std::string& run, int ranks, const std::vector<std::string>& words,
              const std::string& chaos = "");

  int wait() { return launcher_.wait(); }
  void send(int signal) const { launcher_.send(signal); }
  std::string log() const { return launcher_.log(); }
  /// Until one of its ranks has committed this step; false when that does not come.
  bool reaches(i64 step) const;

 private:
  const std::string folder_;
  const std::size_t seen_;  // events of earlier jobs in the folder
  dist::launch::Launcher launcher_;
};

/// What a run's folder says.
std::vector<Event> events_of(const std::string& run, const std::string& what);
i64 integer_of(const Event& event, const std::string& key);
double number_of(const Event& event, const std::string& key);

/// By step: the ids of the samples of the vote that committed it, in order.
std::map<i64, std::vector<i64>> samples_of(const std::string& ledger);
/// By step: what was learnt from, as group rank 0 told.
std::map<i64, double> losses_of(const std::string& run);

/// Of the parameters of two checkpoints: the norm of the difference in relation to that of the first.
double relative_difference(const Checkpoint& a, const Checkpoint& b);
/// All tensors, bit for bit, but those of the names.
bool is_same(const Checkpoint& a, const Checkpoint& b, const std::set<std::string>& but = {});

}  // namespace resilin::tool
