// src/resilin/codegen/kernel.h -- the binary contract between generated code and the runtime: Launch, Status, the entry points.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "resilin/base/text.h"
#include "resilin/loop/status.h"

namespace resilin {

/// The failure of the smallest element so far; filled through Abi::report by any thread.
struct Status {
  std::atomic<i64> element{INT64_MAX};
  std::atomic<bool> locked{false};
  StatusCode code = StatusCode::Ok;
  std::int32_t operand = 0;
  i64 value = 0;
};

/// Everything a kernel may call. Append only.
struct Abi {
  i64 version;
  /// code_operand = code * 256 + operand.
  void (*report)(Status* status, i64 code_operand, i64 element, i64 value);
};
extern const Abi kAbi;

/// The arguments of one kernel launch, shared by all threads. Fields are read by generated code at fixed offsets: append only.
struct Launch {
  const Abi* abi;
  void* const* pointers;        // one per buffer that is not Row or Entry, in buffer order (those slots are null)
  const i64* integers;          // s0, s1, ...
  const std::uint64_t* values;  // bits of value arguments, in their dtype
  const i64* table;             // table_entries rows of [pointers of the Entry buffers, integers], one 8-byte word each
  i64 table_entries;
  Status* status;
};
static_assert(offsetof(Launch, status) == 48);

/// A phase of a kernel: runs iterations [begin, end) with `row` as private memory (row_bytes(nest) bytes, aligned to 64); gives back 0.
using PhaseFunction = std::int32_t (*)(const Launch* launch, i64 begin, i64 end, std::byte* row);

}  // namespace resilin
