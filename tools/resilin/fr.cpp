// tools/resilin/fr.cpp -- what ranks recorded: printed, in PyTorch's layout, or analyzed.
#include "tools/resilin/fr.h"

#include <algorithm>
#include <cstdio>

#include "resilin/base/text.h"
#include "resilin/dist/recorder/analyze.h"
#include "resilin/dist/recorder/dump.h"

namespace resilin::tool {
namespace {

constexpr int kFoundCulprit = 3;

int usage() {
  std::fputs(
      "usage: resilin fr print DIR [--json|--torch]   what each rank recorded; --json: one object a line, --torch: in PyTorch's layout\n"
      "       resilin fr analyze DIR [--json]         which rank caused what; ends with 3 when there is a culprit\n",
      stderr);
  return 2;
}

dist::Recordings read(const std::string& folder) {
  dist::Recordings found = dist::read_recordings(folder);
  for (const std::string& reason : found.unreadable) std::fprintf(stderr, "resilin: %s\n", reason.c_str());
  if (found.recordings.empty()) throw IoError(cat("fr: no recordings: ", folder, "; a rank leaves a file that ends in .fr"));
  return found;
}

int print(const std::string& folder, const std::string& form) {
  for (const dist::Recording& recording : read(folder).recordings) {
    const std::string text = form == "--json"    ? dist::recording_json(recording) + "\n"
                             : form == "--torch" ? dist::torch_json(recording) + "\n"
                                                 : dist::recording_text(recording);
    std::fputs(text.c_str(), stdout);
  }
  return 0;
}

int analyze(const std::string& folder, const std::string& form) {
  const dist::Analysis analysis = dist::analyze(read(folder).recordings);
  std::fputs(form == "--json" ? (dist::analysis_json(analysis) + "\n").c_str() : dist::analysis_text(analysis).c_str(), stdout);
  const bool culprit = std::ranges::any_of(analysis.findings, [](const dist::Finding& finding) { return finding.blames; });
  return culprit ? kFoundCulprit : 0;
}

}  // namespace

int fr(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || arguments.size() > 3) return usage();
  const std::string form = arguments.size() == 3 ? arguments[2] : "";
  if (arguments[0] == "print" && (form.empty() || form == "--json" || form == "--torch")) return print(arguments[1], form);
  if (arguments[0] == "analyze" && (form.empty() || form == "--json")) return analyze(arguments[1], form);
  return usage();
}

}  // namespace resilin::tool
