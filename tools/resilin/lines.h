// tools/resilin/lines.h -- the lines of a file that may be hostile: bounded in size and length, the last one maybe torn.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "resilin/base/function_ref.h"
#include "resilin/base/text.h"

namespace resilin::tool {

struct Line {
  std::string_view text;  // without the line feed; lasts until the next one is read
  i64 number = 1;         // from 1
  bool torn = false;      // the file ends without its line feed
  bool cut = false;       // longer than the limit: `text` is its beginning
};

struct LineLimits {
  std::size_t line_bytes = std::size_t{4} << 20;
  std::size_t file_bytes = std::size_t{1} << 30;
};

/// Calls `each` for every line in order. Throws IoError when the file cannot be read, is no regular file, or is larger than the limit.
void read_lines(const std::string& path, FunctionRef<void(const Line&)> each, const LineLimits& limits = {});

}  // namespace resilin::tool
