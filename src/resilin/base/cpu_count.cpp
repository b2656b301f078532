// src/resilin/base/cpu_count.cpp -- how many processors this process may use.
#include "resilin/base/cpu_count.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <thread>

#include <sched.h>
#include <unistd.h>

#include "resilin/base/file.h"
#include "resilin/base/log.h"
#include "resilin/base/text.h"

namespace resilin {
namespace {

constexpr int kMostThreads = 1024;

std::optional<std::string> read_if_there(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) return std::nullopt;
  try {
    return read_file(path);
  } catch (const IoError&) {
    return std::nullopt;  // a group may vanish between the two calls; no quota is known then
  }
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

std::optional<i64> parse_positive(std::string_view text) {
  try {
    const i64 value = parse_integer(text);
    if (value > 0) return value;
  } catch (const ArgumentError&) {
    return std::nullopt;  // "max", "-1" and damage alike: no limit
  }
  return std::nullopt;
}

std::optional<int> cpus_of(std::string_view quota_text, std::string_view period_text) {
  const std::optional<i64> quota = parse_positive(quota_text);
  const std::optional<i64> period = parse_positive(period_text);
  if (!quota || !period) return std::nullopt;
  return static_cast<int>(std::min<i64>(*quota / *period + (*quota % *period != 0 ? 1 : 0), kMostThreads));
}

/// Version 2: "<quota or max> <period>" in cpu.max.
std::optional<int> limit_v2(const std::string& folder) {
  const std::optional<std::string> text = read_if_there(folder + "/cpu.max");
  if (!text) return std::nullopt;
  const std::string_view line = first_line(*text);
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  return cpus_of(line.substr(0, space), line.substr(space + 1));
}

std::optional<int> limit_v1(const std::string& folder) {
  const std::optional<std::string> quota = read_if_there(folder + "/cpu.cfs_quota_us");
  const std::optional<std::string> period = read_if_there(folder + "/cpu.cfs_period_us");
  if (!quota || !period) return std::nullopt;
  return cpus_of(first_line(*quota), first_line(*period));
}

/// The smallest limit of the group and its parents. In a container the path may lie outside the mount: then the root speaks.
template <class Limit>
void lower(std::optional<int>& smallest, const std::string& mount, std::string path, Limit limit) {
  while (true) {
    const std::optional<int> here = limit(mount + path);
    if (here && (!smallest || *here < *smallest)) smallest = here;
    if (path.empty()) return;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

bool lists_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == "cpu") return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

int affinity_cpu_count() {
  // A machine may have more processors than cpu_set_t has bits; then its plain count serves.
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::optional<int> cgroup_cpu_limit(std::string_view membership, const std::string& root) {
  std::optional<int> smallest;
  while (!membership.empty()) {
    const std::string_view line = first_line(membership);
    membership.remove_prefix(std::min(line.size() + 1, membership.size()));
    // "<hierarchy>:<controllers>:<path>"; version 2 has no controllers.
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string controllers(line.substr(first + 1, second - first - 1));
    std::string path(line.substr(second + 1));
    if (path == "/") path.clear();
    if (controllers.empty()) {
      lower(smallest, root, path, limit_v2);
    } else if (lists_cpu(controllers)) {
      lower(smallest, cat(root, "/", controllers), path, limit_v1);
    }
  }
  return smallest;
}

std::optional<int> parse_omp_num_threads(std::string_view text) {
  const std::optional<i64> count = parse_positive(text.substr(0, text.find(',')));
  if (!count) return std::nullopt;
  return static_cast<int>(std::min<i64>(*count, kMostThreads));
}

int usable_cpu_count() {
  const std::optional<std::string> membership = read_if_there("/proc/self/cgroup");
  const std::optional<int> quota = membership ? cgroup_cpu_limit(*membership) : std::nullopt;
  return std::clamp(std::min(affinity_cpu_count(), quota.value_or(kMostThreads)), 1, kMostThreads);
}

int default_thread_count() {
  const char* wanted = std::getenv("OMP_NUM_THREADS");
  if (wanted != nullptr) {
    const std::optional<int> count = parse_omp_num_threads(wanted);
    if (count) return *count;
    log(LogLevel::Warning, cat("OMP_NUM_THREADS is not a number of threads and is ignored: ", wanted));
  }
  return usable_cpu_count();
}

}  // namespace resilin
