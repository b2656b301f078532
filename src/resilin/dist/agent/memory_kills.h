// src/resilin/dist/agent/memory_kills.h -- Internal: how often the kernel killed for want of memory.
#pragma once

#include <string>
#include <string_view>

#include "resilin/base/text.h"

namespace resilin::dist {

/// Kills that the control groups of this process have counted, all together; 0 where none says. A count that grew while a rank died of
/// SIGKILL tells why. `membership` is the text of /proc/self/cgroup and `root` the folder where the hierarchies are mounted.
i64 memory_kills(std::string_view membership, const std::string& root = "/sys/fs/cgroup");

}  // namespace resilin::dist
