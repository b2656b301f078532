// src/resilin/parallel/ledger.h -- Ledger: what a rank gave to each step, and which state it had after it, written down as it happens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "resilin/base/api.h"
#include "resilin/base/text.h"

namespace resilin::parallel {

struct LedgerOptions {
  std::string folder;  // of the job; made when missing
  std::string job = "job";
  i64 rank = 0;  // of the launcher
  i64 life = 0;
  i64 first_step = 0;
  i64 batch = 1;              // samples of a step
  i64 samples_per_epoch = 1;  // of the data
};

/// Which try of a step: generation, step and attempt.
struct StepTry {
  std::uint64_t generation = 0;
  i64 step = 0;
  i64 attempt = 0;
  std::string text() const { return cat(generation, ".", step, ".", attempt); }
};

/// A file of this life of this rank, one line a record, each written at once: it outlives a killed process, only its last line may be cut. The format is in
/// docs/training-runs.md; `resilin ledger verify` reads it.
///
/// Errors   IoError when the folder or a line cannot be written, and when the file is there: no job writes over the ledger of another one
class RESILIN_API Ledger {
 public:
  explicit Ledger(const LedgerOptions& options);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Before the others can have all of this rank's gradients: the samples that are in them. Without samples the epoch says nothing.
  void write_try(const StepTry& tried, int group_rank, int world, i64 epoch, const std::vector<i64>& samples);
  /// After it has applied the step that this try committed.
  void write_done(const StepTry& tried, std::uint64_t state);

 private:
  void write(const std::string& line) const;

  std::string path_;
  int file_ = -1;
};

}  // namespace resilin::parallel
