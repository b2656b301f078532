// tools/resilin/demo.h -- `resilin demo`: ranks train, one is killed and comes back, and the run is accounted for.
#pragma once

#include <string>
#include <vector>

namespace resilin::tool {

/// CONFIG.toml [--ranks N] [--chaos FAULTS] [KEY=VALUE]...: as `resilin run` of `resilin train`, with fresh files in the run's folder; shows what happens,
/// verifies the ledger, writes result.json and report.html. Gives back 0 when the job ended well and the ledger holds.
int demo(const std::vector<std::string>& arguments);

}  // namespace resilin::tool
