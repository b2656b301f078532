// src/resilin/base/cpu_count.h -- Internal: how many processors this process may use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace resilin {

/// Processors in the affinity mask of the process.
int affinity_cpu_count();

/// Processors that the cgroup's quota pays for, rounded up, the smallest on the way to the root; nothing when there is no quota.
/// `membership` is the text of /proc/self/cgroup and `root` the folder where the hierarchies are mounted.
std::optional<int> cgroup_cpu_limit(std::string_view membership, const std::string& root = "/sys/fs/cgroup");

/// The first number of OMP_NUM_THREADS ("4" or "4,2"); nothing when the text is none.
std::optional<int> parse_omp_num_threads(std::string_view text);

/// The smaller of affinity and quota; at least 1.
int usable_cpu_count();

/// OMP_NUM_THREADS, else `usable_cpu_count`.
int default_thread_count();

}  // namespace resilin
