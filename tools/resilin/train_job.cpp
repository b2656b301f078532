// tools/resilin/train_job.cpp -- a job's name for itself, and its claim on the folder of a run.
#include "tools/resilin/train_job.h"

#include <cstdint>
#include <filesystem>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/dist/environment.h"

namespace resilin::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJobKey = "train/job";
constexpr const char* kFinishedKey = "train/finished";
constexpr const char* kOwner = "/owner";  // in the ledger's folder: the job's id

/// The folder under the first number that is free.
void move_away(const std::string& folder) {
  if (!fs::exists(folder)) return;
  i64 number = 1;
  while (fs::exists(cat(folder, ".", number))) ++number;
  fs::rename(folder, cat(folder, ".", number));
}

}  // namespace

TrainJob agree_on_job(dist::Store& store, i64 first_step) {
  const std::string mine = cat(dist::machine_random().next(), " ", first_step);
  const std::string agreed = store.compare_set(kJobKey, "", mine);
  const std::size_t space = agreed.find(' ');
  if (space == std::string::npos) throw StoreError(cat("train: the job's store has \"", agreed, "\" under ", kJobKey));
  return {agreed.substr(0, space), parse_integer(agreed.substr(space + 1))};
}

void claim_run_folder(const std::string& run, const std::string& job, bool begins_anew) {
  const std::string ledger = run + "/ledger";
  ensure_directory(run);
  const FileLock lock(run + "/claim.lock");
  if (fs::exists(ledger + kOwner) && read_file(ledger + kOwner) == job) return;
  try {
    move_away(ledger);
    if (begins_anew) move_away(run + "/checkpoints");
  } catch (const fs::filesystem_error& error) {
    throw IoError(cat("train: ", run, " cannot be cleared of what an earlier run left: ", error.what()));
  }
  ensure_directory(ledger);
  atomic_write(ledger + kOwner, job);
}

void note_finished(dist::Store& store) { store.set(kFinishedKey, "1"); }
bool is_finished(dist::Store& store) { return store.check({kFinishedKey}); }

}  // namespace resilin::tool
