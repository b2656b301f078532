// src/resilin/dist/collective/collective.h -- Collective: what a rank asks its group to do, as a plain value.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "resilin/dist/collective/kind.h"
#include "resilin/tensor/tensor.h"

namespace resilin::dist {

/// How long a collective may take when it is not told, as PyTorch has it.
inline constexpr std::chrono::milliseconds kCollectiveTimeout = std::chrono::minutes(10);

/// One rank's part of a collective. Tensors keep their memory until the Work is done; any layout and any number of elements will do.
///
///   kind                   inputs              outputs                        all ranks alike
///   AllReduce              one                 the same one, or one like it   numel, dtype, op
///   AllReduceCoalesced     any number          as the inputs                  their numel in all, dtype, op
///   Broadcast              none                one                            numel, dtype, root
///   AllGatherSingle        one of n elements   one of n x ranks               n, dtype
///   ReduceScatterSingle    one of n x ranks    one of n elements              n, dtype, op
///   Barrier                none                none
///   Send                   one                 none                           numel and dtype, of both ends
///   Recv                   none                one
struct Collective {
  CollectiveKind kind = CollectiveKind::Barrier;
  std::vector<Tensor> inputs = {};
  std::vector<Tensor> outputs = {};
  ReduceOp op = ReduceOp::None;
  int root = 0;                                            // group rank of a Broadcast's source
  int peer = -1;                                           // group rank at the other end of Send and Recv
  std::uint32_t tag = 0;                                   // of Send and Recv: ends with equal tags meet
  std::chrono::milliseconds timeout = kCollectiveTimeout;  // from the start; then the generation is revoked
};

}  // namespace resilin::dist
