// src/resilin/dist/launch/watch.h -- watch_job: `resilin agent`, for ranks that another launcher starts.
#pragma once

#include <string>
#include <vector>

#include "resilin/base/api.h"

namespace resilin::dist {

/// Serves the store and watches the ranks of this host that srun, mpirun or a script starts. Prints the variables that the ranks need, as
/// shell commands, and goes on in a process of its own; with --foreground in this one. Ends when all ranks have ended, or when none is there
/// for the join timeout. Gives back the exit code.
///
/// Errors   as run_job; a rank's exit status is not known to it, so an end without Heartbeat::leave counts as a death
RESILIN_API int watch_job(const std::vector<std::string>& arguments);

}  // namespace resilin::dist
