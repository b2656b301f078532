// tools/resilin/run.h -- `resilin run`: the launcher.
#pragma once

#include <string>
#include <vector>

namespace resilin::tool {

/// Runs a job; 2 when its arguments are wrong, else what dist::run_job gives back.
int run(const std::vector<std::string>& arguments);

}  // namespace resilin::tool
