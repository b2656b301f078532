// src/resilin/dist/collective/kind.h -- the names of what ranks do together.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace resilin::dist {

/// What a group of ranks does together. Numbers are part of the recorder's file format: they are never given to something else.
enum class CollectiveKind : std::uint8_t {
  AllReduce,
  AllReduceCoalesced,
  Broadcast,
  Reduce,
  AllGather,
  AllGatherSingle,
  AllGatherV,
  ReduceScatter,
  ReduceScatterSingle,
  ReduceScatterV,
  AllToAll,
  AllToAllSingle,
  Gather,
  Scatter,
  Barrier,
  MonitoredBarrier,
  Send,
  Recv,
  Other,
};
constexpr std::array<std::string_view, 19> enum_names(const CollectiveKind*) {
  return {"all_reduce",
          "all_reduce_coalesced",
          "broadcast",
          "reduce",
          "all_gather",
          "all_gather_single",
          "all_gather_v",
          "reduce_scatter",
          "reduce_scatter_single",
          "reduce_scatter_v",
          "all_to_all",
          "all_to_all_single",
          "gather",
          "scatter",
          "barrier",
          "monitored_barrier",
          "send",
          "recv",
          "other"};
}
constexpr bool is_point_to_point(CollectiveKind op) { return op == CollectiveKind::Send || op == CollectiveKind::Recv; }
/// No rank can finish before every rank has begun: what clocks are aligned by.
constexpr bool is_synchronizing(CollectiveKind op) {
  return op != CollectiveKind::Broadcast && op != CollectiveKind::Reduce && op != CollectiveKind::Gather && op != CollectiveKind::Scatter &&
         !is_point_to_point(op) && op != CollectiveKind::Other;
}

/// How elements of several ranks become one; None for what moves elements only.
enum class ReduceOp : std::uint8_t { None, Sum, Product, Min, Max, Avg, Band, Bor, Bxor, PremulSum };
constexpr std::array<std::string_view, 10> enum_names(const ReduceOp*) {
  return {"none", "sum", "product", "min", "max", "avg", "band", "bor", "bxor", "premul_sum"};
}

}  // namespace resilin::dist
