// tools/resilin/lines.cpp -- the lines of a file that may be hostile: bounded in size and length, the last one maybe torn.
#include "tools/resilin/lines.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "resilin/base/error.h"

namespace resilin::tool {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 16;

void check_file(const std::string& path, const LineLimits& limits) {
  std::error_code reason;
  // Before it is opened: a pipe would wait for its writer.
  if (!std::filesystem::is_regular_file(path, reason))
    throw IoError(cat("read_lines: no regular file: ", path, "; a file of lines is needed"));
  const std::uintmax_t bytes = std::filesystem::file_size(path, reason);
  if (reason) throw IoError(cat("read_lines: ", reason.message(), ": ", path, "; the path must be accessible"));
  if (bytes > limits.file_bytes) {
    throw IoError(cat("read_lines: the file is too large: ", path, " has ", bytes, " bytes; at most ", limits.file_bytes, " are read"));
  }
}

/// Puts lines together from blocks.
class Collector {
 public:
  Collector(FunctionRef<void(const Line&)> each, std::size_t limit) : each_(each), limit_(limit) {}

  void add(std::string_view block) {
    while (!block.empty()) {
      const std::size_t end = block.find('\n');
      const std::string_view part = block.substr(0, end);
      const std::size_t taken = std::min(part.size(), limit_ - line_.size());
      line_.append(part, 0, taken);
      cut_ = cut_ || taken < part.size();
      begun_ = true;
      if (end == std::string_view::npos) return;
      give(/*torn=*/false);
      block.remove_prefix(end + 1);
    }
  }

  void finish() {
    if (begun_) give(/*torn=*/true);
  }

 private:
  void give(bool torn) {
    each_({.text = line_, .number = number_++, .torn = torn, .cut = cut_});
    line_.clear();
    cut_ = begun_ = false;
  }

  FunctionRef<void(const Line&)> each_;
  std::size_t limit_;
  std::string line_;
  i64 number_ = 1;
  bool cut_ = false;
  bool begun_ = false;
};

}  // namespace

void read_lines(const std::string& path, FunctionRef<void(const Line&)> each, const LineLimits& limits) {
  check_file(path, limits);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError(cat("read_lines: ", std::generic_category().message(errno), ": ", path, "; the path must be accessible"));
  Collector lines(each, limits.line_bytes);
  std::string block(kBlockBytes, '\0');
  std::size_t left = limits.file_bytes;  // a file that grows meanwhile ends there
  while (file && left > 0) {
    file.read(block.data(), static_cast<std::streamsize>(std::min(block.size(), left)));
    const std::size_t count = static_cast<std::size_t>(file.gcount());
    lines.add(std::string_view(block).substr(0, count));
    left -= count;
  }
  if (file.bad())
    throw IoError(cat("read_lines: ", std::generic_category().message(errno), ": ", path, "; it must be readable to its end"));
  lines.finish();
}

}  // namespace resilin::tool
