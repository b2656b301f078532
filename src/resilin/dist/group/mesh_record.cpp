// src/resilin/dist/group/mesh_record.cpp -- what the flight recorder is told of a collective that is started.
#include <algorithm>
#include <limits>

#include "resilin/base/small_vector.h"
#include "resilin/dist/group/mesh.h"

namespace resilin::dist {

void Mesh::record_issue(WorkBody& work) const {
  if (options_.recorder == nullptr) return;
  const Collective& collective = work.collective;
  const Tensor& first = !collective.inputs.empty() ? collective.inputs[0] : work.call.output;
  SmallVector<i64, 8> dims;
  if (first.defined()) {
    for (const Dim& dim : first.shape()) dims.push_back(dim.value());
  }
  const auto elements = [](const Tensor& x) { return x.defined() ? static_cast<std::uint64_t>(x.numel().value()) : 0; };
  const auto launch_rank = [&](int rank) { return static_cast<std::int32_t>(launch_ranks_[static_cast<std::size_t>(rank)]); };
  const bool is_pair = is_point_to_point(collective.kind);
  work.mark = options_.recorder->issue(
      {.op = collective.kind,
       .dtype = work.call.dtype,
       .reduce = work.call.op,
       .generation = work.generation,
       .sequence = work.sequence,
       .signature = hash_of(work.signature),
       .peer = is_pair ? launch_rank(collective.peer) : kNoRank,
       .root = collective.kind == CollectiveKind::Broadcast ? launch_rank(collective.root) : kNoRank,
       .timeout_ms = static_cast<std::uint32_t>(std::min<i64>(collective.timeout.count(), std::numeric_limits<std::uint32_t>::max())),
       .tensors = static_cast<std::uint16_t>(std::min<std::size_t>(std::max(collective.inputs.size(), collective.outputs.size()), 65535)),
       .dims = dims,
       .input_elements = elements(work.call.input),
       .output_elements = elements(work.call.output),
       .bytes = work.call.elements * static_cast<std::uint64_t>(size_bytes(work.call.dtype))});
}

}  // namespace resilin::dist
