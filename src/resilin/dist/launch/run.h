// src/resilin/dist/launch/run.h -- run_job: `resilin run`, the launcher of ranks.
#pragma once

#include <string>
#include <vector>

#include "resilin/base/api.h"

namespace resilin::dist {

/// Runs the ranks of a job on this host as its arguments say (`resilin run --help`), with this process as their agent, and gives back the exit
/// code: 0 when all ranks succeeded (of a shrinking job: enough of them), else that of the first cause, 128 + signal for one that was killed.
/// `variables` is what ranks get besides their own, "NAME=value".
///
/// Errors   ArgumentError and UnsupportedError for arguments; StoreError, TimeoutError when hosts do not come together; IoError
/// Threads  the calling thread starts all ranks and must be the one that lives as long as the process; signals are as before afterwards
RESILIN_API int run_job(const std::vector<std::string>& arguments, const std::vector<std::string>& variables);

}  // namespace resilin::dist
