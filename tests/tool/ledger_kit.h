// tests/tool/ledger_kit.h -- Internal: makes right ledgers of jobs with kills, retries, steps in doubt and new lives, to be damaged.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "resilin/base/text.h"

namespace resilin::testing {

/// One line of a ledger file, in parts, so that a test can change one and knows what it means.
struct LedgerLine {
  enum class Kind { Header, Try, Done } kind = Kind::Header;
  std::string id;  // "G.K.A" of a try or done
  i64 step = -1;
  i64 group_rank = 0;
  i64 world = 0;
  i64 epoch = 0;
  std::vector<i64> samples;
  std::string state;
  std::string text() const;

  // Of a header; `text` needs them.
  i64 rank = 0;
  i64 life = 0;
  i64 first_step = 0;
  i64 batch = 0;
  i64 samples_per_epoch = 0;
};

/// The files of a job by "RANK.LIFE".
struct LedgerFiles {
  std::map<std::string, std::vector<LedgerLine>> lines;
  std::map<std::string, std::string> torn;  // what a kill left of a last line

  /// The number of lines that are done of this step, and the tries of this id.
  i64 dones(i64 step) const;
  bool committed(const std::string& id) const;
  i64 last_step() const;
  void write(const std::string& folder) const;
};

/// A job, step by step: who is in the world, who dies when.
class LedgerJob {
 public:
  static constexpr i64 kBatch = 24;
  static constexpr i64 kSamples = 300;  // 12 steps and a rest of 12

  explicit LedgerJob(std::uint64_t seed, i64 first_step = 0) : seed_(seed), first_step_(first_step), step_(first_step) {}
  /// A new generation of these launch ranks; one that was killed comes with a new life.
  void generation(std::vector<i64> members);
  /// Steps that all members do.
  void steps(i64 count);
  /// A vote that does not commit: the attempt is done again.
  void refused_attempt();
  /// A step in which this rank adds no samples, because it heals.
  void healing_step(i64 rank);
  /// This rank dies before its try of a step is whole, so that nobody commits.
  void kill_before_vote(i64 rank);
  /// All vote and the others do the step; this rank dies, with a torn done or none.
  void kill_before_done(i64 rank, bool torn);
  /// The step commits, but only this member knows at once; the others do it, in doubt, in the next generation.
  void step_in_doubt(i64 rank, std::vector<i64> next_members);

  const LedgerFiles& files() const { return files_; }

 private:
  void vote(i64 healing, i64 silent);
  void done(i64 rank, const std::string& id, i64 step);
  std::vector<LedgerLine>& file(i64 rank);
  std::string id() const { return cat(generation_, ".", step_, ".", attempt_); }
  std::vector<i64> batch_of(i64 step) const;

  std::uint64_t seed_;
  i64 first_step_;
  i64 step_;
  i64 attempt_ = 0;
  i64 generation_ = 0;
  std::vector<i64> members_;
  std::map<i64, i64> lives_;
  LedgerFiles files_;
};

/// 32 steps over two whole epochs and a part of a third, with everything that may befall a job.
LedgerFiles eventful_ledger(std::uint64_t seed);

}  // namespace resilin::testing
