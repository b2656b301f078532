// src/resilin/tensor/memory_limit.cpp -- the memory limit of the machine and of control groups.
#include "resilin/tensor/memory_limit.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

#include <unistd.h>

namespace resilin {
namespace {

constexpr i64 kNoLimit = std::numeric_limits<i64>::max();

/// The number in a file; no limit when the file is absent or says "max".
i64 limit_in(const std::string& file) {
  std::ifstream in(file);
  i64 value = 0;
  return in >> value && value > 0 ? value : kNoLimit;
}

/// The smallest limit of a control group and of all above it. In a container the path may name groups outside of it, whose files are absent.
i64 limit_of_group(const std::string& root, std::string path, const char* file) {
  i64 limit = limit_in(root + "/" + file);
  while (path.size() > 1) {
    limit = std::min(limit, limit_in(root + path + "/" + file));
    path.resize(path.rfind('/'));
  }
  return limit;
}

/// Lines of /proc/self/cgroup are "<number>:<controllers>:<path>"; version 2 is number 0 without controllers.
i64 limit_of_groups() {
  i64 limit = kNoLimit;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") limit = std::min(limit, limit_of_group("/sys/fs/cgroup", path, "memory.max"));
    if (controllers.find(",memory,") != std::string::npos) {
      limit = std::min(limit, limit_of_group("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
    }
  }
  return limit;
}

i64 machine_memory() { return static_cast<i64>(sysconf(_SC_PHYS_PAGES)) * static_cast<i64>(sysconf(_SC_PAGESIZE)); }

}  // namespace

i64 memory_limit_bytes() {
  static const i64 limit = std::min(machine_memory(), limit_of_groups());
  return limit;
}

i64 ranks_on_host() {
  const char* ranks = std::getenv("LOCAL_WORLD_SIZE");
  return ranks == nullptr ? 1 : std::max<i64>(1, std::atoll(ranks));
}

}  // namespace resilin
