// src/resilin/tensor/device.cpp -- names of devices.
#include "resilin/tensor/device.h"

#include "resilin/base/text.h"

namespace resilin {

std::string name(Device device) { return device.index == 0 ? "cpu" : cat("cpu:", device.index); }

Device parse_device(std::string_view text) {
  if (text == "cpu" || text == "cpu:0") return kCpu;
  throw UnsupportedError(cat("parse_device: no such device here: \"", text, "\"; it must be \"cpu\""));
}

}  // namespace resilin
