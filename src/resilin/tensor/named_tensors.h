// src/resilin/tensor/named_tensors.h -- tensors by name: what files hold, and what state_dict gives.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "resilin/tensor/tensor.h"

namespace resilin {

using NamedTensor = std::pair<std::string, Tensor>;
/// In an order that their owner chose.
using NamedTensors = std::vector<NamedTensor>;

}  // namespace resilin
