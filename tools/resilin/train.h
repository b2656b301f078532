// tools/resilin/train.h -- `resilin train`: a GPT that learns the bytes of a text, on one rank or on those that `resilin run` starts.
#pragma once

#include <string>
#include <vector>

namespace resilin::tool {

/// CONFIG.toml [KEY=VALUE]... (see docs/train-config.md). Gives back the exit code: 0 at the end of the run and after SIGTERM, 75 when the job's store is lost.
int train(const std::vector<std::string>& arguments);

}  // namespace resilin::tool
