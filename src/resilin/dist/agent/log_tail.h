// src/resilin/dist/agent/log_tail.h -- Internal: follows a file that a rank writes and shows its lines here.
#pragma once

#include <string>

#include "resilin/dist/os/descriptor.h"

namespace resilin::dist {

/// A rank writes to its file, not to a pipe: it goes on when whoever shows its output is gone or slow.
class LogTail {
 public:
  /// Follows `path` from its start and writes to the descriptor `to`, `prefix` before each line.
  LogTail(const std::string& path, std::string prefix, int to);
  LogTail(LogTail&&) noexcept = default;
  LogTail& operator=(LogTail&&) noexcept = default;

  /// Shows the whole lines that were added since, a megabyte at most; true when there may be more.
  bool show_new();
  /// Shows the rest, a last line without its end too.
  void finish();

 private:
  void write_part();

  Descriptor file_;
  std::string prefix_;
  std::string part_;  // of a line that is not whole
  int to_ = -1;
};

}  // namespace resilin::dist
