// src/resilin/loop/interpret.h -- the slow twin of the code generator: runs a Nest one element at a time. Reachable from tests only.
#pragma once

#include <span>
#include <vector>

#include "resilin/loop/nest.h"

namespace resilin::loop {

/// What a failed Check reports.
struct Failure {
  int code = 0;
  int operand = 0;
  i64 element = 0;
  i64 value = 0;
};

/// One entry of a table: its pointers and integers, in the order of the Entry buffers and of TableLoop::columns.
struct TableEntry {
  std::vector<void*> pointers;
  std::vector<i64> integers;
};

/// The run-time arguments of a kernel.
struct Arguments {
  std::vector<void*> pointers;        // one per buffer; Partial, Row and Entry buffers: null
  std::vector<i64> integers;          // s0 ..
  std::vector<std::uint64_t> values;  // bits of each value argument in its dtype
  std::vector<TableEntry> table;
};

/// Runs every phase in order. Gives back the failure of the smallest element, if any. Bit-equal to the generated kernel.
std::optional<Failure> interpret(const Nest& nest, const Arguments& arguments);

}  // namespace resilin::loop
