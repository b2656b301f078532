// src/resilin/codegen/kernel.cpp -- the functions that generated code calls.
#include "resilin/codegen/kernel.h"

namespace resilin {
namespace {

constexpr i64 kAbiVersion = 1;

/// Keeps the failure of the smallest element; of equal ones, that of the first operand checked, since a thread reports those in order.
void report(Status* status, i64 code_operand, i64 element, i64 value) {
  while (status->locked.exchange(true, std::memory_order_acquire)) {
    while (status->locked.load(std::memory_order_relaxed)) __builtin_ia32_pause();
  }
  if (element < status->element.load(std::memory_order_relaxed) || status->code == StatusCode::Ok) {
    status->element.store(element, std::memory_order_relaxed);
    status->code = static_cast<StatusCode>(code_operand / 256);
    status->operand = static_cast<std::int32_t>(code_operand % 256);
    status->value = value;
  }
  status->locked.store(false, std::memory_order_release);
}

}  // namespace

constinit const Abi kAbi = {kAbiVersion, &report};

}  // namespace resilin
