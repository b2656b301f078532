// tools/resilin/report.cpp -- `resilin report`: one page about a training run.
#include "tools/resilin/report.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/base/file.h"

#include "tools/resilin/number_text.h"
#include "tools/resilin/report_page.h"

namespace resilin::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestResult = 1'000'000;

int usage() {
  std::fputs("usage: resilin report RUN [-o FILE]   writes a page about a training run, RUN/report.html or FILE\n", stderr);
  return 2;
}

void add_account(Story& story, const std::string& run_folder) {
  std::error_code ignored;
  if (!fs::is_directory(fs::path(run_folder) / "ledger", ignored)) {
    story.ledger_problem = "the run has no ledger";
    return;
  }
  try {
    story.account = verify_ledger(run_folder);
  } catch (const IoError& error) {
    story.ledger_problem = error.what();
  }
}

std::string result_text(const std::string& run_folder) {
  const std::string path = run_folder + "/result.json";
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return "";
  const std::uintmax_t bytes = fs::file_size(path, ignored);
  if (ignored || bytes > kLargestResult)
    throw IoError(cat("report: too large: ", path, " has ", bytes, " bytes; at most ", kLargestResult, " are read"));
  return read_file(path);
}

}  // namespace

ReportSummary write_report(const std::string& run_folder, const std::string& path) {
  std::error_code reason;
  if (!fs::is_directory(run_folder, reason)) throw IoError(cat("report: no folder: ", run_folder, "; the folder of a run is needed"));
  Story story = make_story(read_events(run_folder + "/events.jsonl"));
  add_account(story, run_folder);
  const fs::path absolute = fs::absolute(run_folder, reason).lexically_normal();
  const std::string name = (absolute.has_filename() ? absolute : absolute.parent_path()).filename().string();
  const std::string page = report_page(story, {.name = name, .result_json = result_text(run_folder)});
  atomic_write(path, page);
  return {.bytes = page.size(),
          .events = story.run.events,
          .steps = static_cast<i64>(story.run.commits.size()),
          .kills = static_cast<i64>(story.run.kills.size())};
}

int report(const std::vector<std::string>& arguments) {
  const bool named = arguments.size() == 3 && arguments[1] == "-o";
  if (arguments.empty() || arguments[0].empty() || arguments[0][0] == '-' || (arguments.size() > 1 && !named)) return usage();
  const std::string path = named ? arguments[2] : arguments[0] + "/report.html";
  const ReportSummary written = write_report(arguments[0], path);
  std::printf("report: wrote %s: %s steps, %s kill%s, %s events, %s kB\n", path.c_str(), grouped(written.steps).c_str(),
              grouped(written.kills).c_str(), written.kills == 1 ? "" : "s", grouped(written.events).c_str(),
              grouped(static_cast<i64>((written.bytes + 999) / 1000)).c_str());
  return 0;
}

}  // namespace resilin::tool
