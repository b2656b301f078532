// src/resilin/tensor/memory_limit.h -- Internal: how much memory this process may use.
#pragma once

#include "resilin/base/text.h"

namespace resilin {

/// The smallest of the machine's memory and the limits of the control groups that hold this process (versions 1 and 2), in bytes.
/// Read once.
i64 memory_limit_bytes();
/// How many ranks share this machine: the launcher's LOCAL_WORLD_SIZE, else 1.
i64 ranks_on_host();

}  // namespace resilin
