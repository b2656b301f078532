// tools/resilin/report.h -- `resilin report`: one page about a training run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "resilin/base/text.h"

namespace resilin::tool {

struct ReportSummary {
  std::size_t bytes = 0;
  i64 events = 0;
  i64 steps = 0;
  i64 kills = 0;
};

/// Writes a self-contained HTML page about a run: of its events.jsonl, its ledger and its result.json, as far as they are there. Throws IoError
/// when one of them is there and cannot be read, or the page cannot be written.
ReportSummary write_report(const std::string& run_folder, const std::string& path);

/// report RUN [-o FILE]. Gives back 0; 2 for wrong arguments.
int report(const std::vector<std::string>& arguments);

}  // namespace resilin::tool
