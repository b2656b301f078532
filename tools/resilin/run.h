// tools/resilin/run.h -- `resilin run` and `resilin agent`.
#pragma once

#include <string>
#include <vector>

namespace resilin::tool {

/// Runs a job; 2 when its arguments are wrong, else what dist::run_job gives back.
int run(const std::vector<std::string>& arguments);
/// Watches ranks that another launcher starts; exit codes as of run.
int agent(const std::vector<std::string>& arguments);

}  // namespace resilin::tool
