// src/resilin/dist/agent/rank_process.h -- Internal: one life of a rank as its agent holds it: process, output, last words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "resilin/dist/agent/log_tail.h"
#include "resilin/dist/agent/spawn.h"
#include "resilin/dist/launch/options.h"
#include "resilin/dist/launch/rank_info.h"

namespace resilin::dist {

/// What a rank wrote into its error file.
struct LastWords {
  std::string text;
  bool reports_other = false;  // an error of kind PeerError, RevokedError ...: another rank came first
};

/// Reads PyTorch's form, {"message": {"message": "...", "extraInfo": {"kind": "..."}}}, and a plain {"message": "..."}. A file that is
/// damaged is no reason to fail: its text is taken as it is. Nothing when there is no file.
LastWords read_last_words(const std::string& error_file);

struct RankOutput {
  std::string log_dir;  // empty: the agent's own streams
  Streams redirects;
  Streams tee;
};

class RankProcess {
 public:
  /// Starts it. IoError when it cannot.
  RankProcess(const RankInfo& info, const RankOutput& output, Program program);

  const RankInfo& info() const { return info_; }
  const Child& child() const { return child_; }
  void send_signal(int signal);
  /// How it ended; nothing while it runs. An end by SIGKILL that this object did not send may be the kernel's, for want of memory.
  std::optional<ProcessEnd> reap() { return child_.reap(); }
  bool was_killed_here() const { return killed_; }
  void show_output();
  void finish_output();
  bool shows_output() const { return !tails_.empty(); }

 private:
  RankInfo info_;
  std::vector<LogTail> tails_;
  Child child_;
  bool killed_ = false;
};

}  // namespace resilin::dist
