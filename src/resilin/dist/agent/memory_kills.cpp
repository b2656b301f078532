// src/resilin/dist/agent/memory_kills.cpp -- the counters oom_kill of control groups, versions 1 and 2.
#include "resilin/dist/agent/memory_kills.h"

#include <fstream>
#include <sstream>

namespace resilin::dist {
namespace {

/// The number behind "oom_kill " in a file; 0 when there is no such file or line.
i64 count_in(const std::string& file) {
  std::ifstream in(file);
  for (std::string name; in >> name;) {
    i64 value = 0;
    if (!(in >> value)) return 0;
    if (name == "oom_kill") return value;
  }
  return 0;
}

}  // namespace

i64 memory_kills(std::string_view membership, const std::string& root) {
  i64 kills = 0;
  std::istringstream lines{std::string(membership)};
  for (std::string line; std::getline(lines, line);) {
    // "<hierarchy>:<controllers>:<path>"; version 2 has no controllers. In a container the path may lie outside the mount.
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (controllers == ",,") {
      kills += path.empty() ? 0 : count_in(root + path + "/memory.events");
      kills += count_in(root + "/memory.events");
    } else if (controllers.find(",memory,") != std::string::npos) {
      kills += path.empty() ? 0 : count_in(root + "/memory" + path + "/memory.oom_control");
      kills += count_in(root + "/memory/memory.oom_control");
    }
  }
  return kills;
}

}  // namespace resilin::dist
