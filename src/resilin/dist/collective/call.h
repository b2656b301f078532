// src/resilin/dist/collective/call.h -- Internal: a checked collective, its memory packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "resilin/dist/collective/collective.h"
#include "resilin/tensor/tensor.h"

namespace resilin::dist {

/// What runs: row-major memory, which is the caller's own where that is possible.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::Barrier;
  ReduceOp op = ReduceOp::None;
  DType dtype = DType::F32;
  std::uint64_t elements = 0;         // as ScheduleKey has them
  Tensor input = {}, output = {};     // undefined when there is none
  std::vector<Tensor> unpacked = {};  // whom `output` is handed out to in the end; empty when it is the caller's own

  std::span<const std::byte> input_bytes() const;
  std::span<std::byte> output_bytes() const;
  /// Hands the output out and counts the writes.
  void finish();
};

/// Checks a collective of one rank, without knowing the others', and packs what it reads. ArgumentError, ShapeError, DtypeError or
/// UnsupportedError name the tensor that does not fit; then nothing has been read.
CollectiveCall make_call(const Collective& collective, int rank, int size);

}  // namespace resilin::dist
