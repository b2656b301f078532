// src/resilin/dist/agent/rank_process.cpp -- output files and last words of a rank.
#include "resilin/dist/agent/rank_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/json.h"
#include "resilin/base/text.h"

namespace resilin::dist {
namespace {

constexpr std::size_t kLongestWords = 2000;

// Kinds of errors that a rank has because of another one.
constexpr std::array<std::string_view, 8> kKindsOfOthers = {"PeerError",      "PeerLeft",   "RevokedError",     "AbortedError",
                                                            "CancelledError", "StaleError", "ReconfigureError", "StoreError"};

std::string shortened(std::string text) {
  if (text.size() > kLongestWords) text = text.substr(0, kLongestWords) + "...";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

LastWords words_of(const Json& json) {
  const Json* message = json.find("message");
  if (message == nullptr) return {};
  LastWords words;
  if (message->is_text()) words.text = message->text();
  const Json* kind = json.find("kind");
  if (message->is_object()) {
    if (const Json* text = message->find("message"); text != nullptr && text->is_text()) words.text = text->text();
    if (const Json* extra = message->find("extraInfo"); extra != nullptr && extra->is_object()) kind = extra->find("kind");
  }
  if (kind != nullptr && kind->is_text()) words.reports_other = std::ranges::find(kKindsOfOthers, kind->text()) != kKindsOfOthers.end();
  return words;
}

Descriptor open_log(const std::string& path) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!file) throw IoError(cat("log: ", std::generic_category().message(errno), ": ", path, "; the file must be writable"));
  return file;
}

/// Opens the files that the child writes, and follows those that are shown.
Child start(const RankInfo& info, const RankOutput& output, Program& program, std::vector<LogTail>& tails) {
  const std::string folder = cat(output.log_dir, "/", info.run_id, "/", info.rank, "/", info.restart_count);
  Descriptor out, err;
  const auto open_stream = [&](bool redirected, bool shown, const char* name, int to) {
    Descriptor file;
    if (output.log_dir.empty() || (!redirected && !shown)) return file;
    ensure_directory(folder);
    const std::string path = cat(folder, "/", name);
    file = open_log(path);
    if (shown) tails.emplace_back(path, cat("[rank ", info.rank, "] "), to);
    return file;
  };
  out = open_stream(output.redirects.out, output.tee.out, "stdout.log", STDOUT_FILENO);
  err = open_stream(output.redirects.err, output.tee.err, "stderr.log", STDERR_FILENO);
  program.out = out.get();
  program.err = err.get();
  return Child(program);
}

}  // namespace

LastWords read_last_words(const std::string& error_file) {
  if (access(error_file.c_str(), R_OK) != 0) return {};
  try {
    const std::string text = read_file(error_file);
    try {
      const Json json = parse_json(text);
      LastWords words = json.is_object() ? words_of(json) : LastWords{};
      if (words.text.empty()) words.text = text;
      words.text = shortened(words.text);
      return words;
    } catch (const ArgumentError&) {
      return {shortened(text), false};  // it died while it wrote
    }
  } catch (const IoError&) {
    return {};
  }
}

RankProcess::RankProcess(const RankInfo& info, const RankOutput& output, Program program)
    : info_(info), child_(start(info, output, program, tails_)) {}

void RankProcess::send_signal(int signal) {
  killed_ = killed_ || signal == SIGKILL;
  child_.send_signal(signal);
}

void RankProcess::show_output() {
  for (LogTail& tail : tails_) tail.show_new();
}

void RankProcess::finish_output() {
  for (LogTail& tail : tails_) tail.finish();
}

}  // namespace resilin::dist
