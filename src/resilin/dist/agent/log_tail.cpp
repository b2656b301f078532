// src/resilin/dist/agent/log_tail.cpp -- lines of a growing file with the rank in front.
#include "resilin/dist/agent/log_tail.h"

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin::dist {
namespace {

constexpr std::size_t kLongestLine = 65536;  // longer ones are shown in parts
constexpr int kReadsAtOnce = 16;             // a rank that writes without end does not hold the agent up

}  // namespace

LogTail::LogTail(const std::string& path, std::string prefix, int to)
    : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)), prefix_(std::move(prefix)), to_(to) {
  if (!file_) throw IoError(cat("log: ", std::generic_category().message(errno), ": ", path, "; the file must be readable"));
}

bool LogTail::show_new() {
  std::array<char, 65536> buffer;
  for (int i = 0; i < kReadsAtOnce; ++i) {
    const ssize_t count = read(file_.get(), buffer.data(), buffer.size());
    if (count <= 0) return false;
    std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      part_ += bytes.substr(0, end);
      if (end == std::string_view::npos) {
        if (part_.size() > kLongestLine) write_part();
        break;
      }
      write_part();
      bytes.remove_prefix(end + 1);
    }
  }
  return true;
}

void LogTail::finish() {
  while (show_new()) continue;
  if (!part_.empty()) write_part();
}

/// One write a line, so that lines of several ranks never mix.
void LogTail::write_part() {
  const std::string whole = cat(prefix_, part_, "\n");
  part_.clear();
  std::string_view rest = whole;
  while (!rest.empty()) {
    const ssize_t count = write(to_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // nobody looks; the file has it
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace resilin::dist
