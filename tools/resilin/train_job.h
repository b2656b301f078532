// tools/resilin/train_job.h -- what all ranks of a training job know alike, and the folder of the run as this job's own.
#pragma once

#include <string>

#include "resilin/base/text.h"
#include "resilin/dist/store/store.h"

namespace resilin::tool {

struct TrainJob {
  std::string id;      // no other job has it, also no other one in the same folder
  i64 first_step = 0;  // steps that the state had taken when it began
};

/// As the first rank said that asked; later lives, which may find later checkpoints, hear the same.
TrainJob agree_on_job(dist::Store& store, i64 first_step);

/// Moves what an earlier job left in the folder of the run: its ledger becomes ledger.1, ledger.2 and so on, the greatest number the latest; with
/// `begins_anew` its checkpoints as well. The first rank of the job that comes does it, for all.
void claim_run_folder(const std::string& run, const std::string& job, bool begins_anew);

/// All steps are taken and saved: who comes now has nothing to do.
void note_finished(dist::Store& store);
bool is_finished(dist::Store& store);

}  // namespace resilin::tool
