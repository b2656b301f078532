// src/resilin/tensor/device.h -- Device: where a tensor's memory lives.
#pragma once

#include <string>
#include <string_view>

#include "resilin/base/error.h"

namespace resilin {

enum class DeviceKind : unsigned char { Cpu };

/// A device and its number; only the CPU exists, other names throw UnsupportedError from parse_device.
struct Device {
  DeviceKind kind = DeviceKind::Cpu;
  int index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};
inline constexpr Device kCpu{};

/// "cpu" for the CPU.
RESILIN_API std::string name(Device device);
RESILIN_API Device parse_device(std::string_view text);

}  // namespace resilin
