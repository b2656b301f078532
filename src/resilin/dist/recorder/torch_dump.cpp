// src/resilin/dist/recorder/torch_dump.cpp -- a recording in the layout that PyTorch's analyzer reads.
#include <algorithm>
#include <map>

#include "resilin/base/json.h"
#include "resilin/base/text.h"
#include "resilin/dist/recorder/dump.h"
#include "resilin/dist/recorder/history.h"

namespace resilin::dist {
namespace {

constexpr std::array<std::string_view, kDTypeCount> kTorchTypes = {"Bool",          "Byte",        "Char",         "Short",        "Int",
                                                                   "Long",          "Half",        "BFloat16",     "Float",        "Double",
                                                                   "Float8_e4m3fn", "Float8_e5m2", "ComplexFloat", "ComplexDouble"};

/// The names under which PyTorch records our operations.
std::string_view torch_operation(CollectiveKind op) {
  switch (op) {
    case CollectiveKind::AllReduceCoalesced: return "allreduce_coalesced";
    case CollectiveKind::AllGatherSingle: return "_all_gather_base";
    case CollectiveKind::AllGatherV: return "all_gather";
    case CollectiveKind::ReduceScatterSingle: return "_reduce_scatter_base";
    case CollectiveKind::ReduceScatterV: return "reduce_scatter";
    case CollectiveKind::AllToAllSingle: return "all_to_all";
    case CollectiveKind::Barrier:
    case CollectiveKind::MonitoredBarrier: return "all_reduce_barrier";
    default: return name_of(op);
  }
}

using GroupKey = std::pair<std::uint32_t, std::uint64_t>;  // group, generation

/// The position of a rank in its group, which PyTorch prints; the launch rank where the group is not known.
std::int32_t group_rank(const Recording& recording, const Record& record, std::int32_t rank) {
  const RecordedGroup* const group = recording.find_group(record.group, record.generation);
  if (group == nullptr) return rank;
  const auto found = std::find(group->members.begin(), group->members.end(), rank);
  return found == group->members.end() ? rank : static_cast<std::int32_t>(found - group->members.begin());
}

std::string profiling_name(const Recording& recording, const Record& issued, std::string_view backend) {
  const std::string name = cat(backend, ":", torch_operation(issued.op));
  if (!is_point_to_point(issued.op)) return name;
  const std::int32_t self = group_rank(recording, issued, recording.rank), peer = group_rank(recording, issued, issued.peer);
  return cat(name, " ", self, issued.op == CollectiveKind::Send ? "->" : "<-", peer);
}

Json sizes_of(const Record& issued) {
  Json::Array dims;
  for (std::size_t i = 0; i < std::min<std::size_t>(issued.axes, kRecordedDims); ++i) dims.emplace_back(static_cast<i64>(issued.dims[i]));
  if (dims.empty()) dims.emplace_back(static_cast<i64>(issued.input_elements));
  Json::Array sizes;
  sizes.emplace_back(std::move(dims));
  return sizes;
}

Json output_sizes_of(const Record& issued) {
  if (issued.output_elements == issued.input_elements) return sizes_of(issued);
  Json::Array dims, sizes;
  dims.emplace_back(static_cast<i64>(issued.output_elements));
  sizes.emplace_back(std::move(dims));
  return sizes;
}

Json wall_or_null(const Recording& recording, std::uint64_t time_ns) {
  return time_ns == 0 ? Json() : Json(static_cast<i64>(recording.wall_ns(time_ns)));
}

Json extras_of(const Recording& recording, const Operation& operation) {
  const Record& issued = operation.issued;
  Json::Object waits;
  for (std::size_t rank = 0; rank < recording.peers.size(); ++rank) {
    const RecordedPeer& peer = recording.peers[rank];
    if (peer.waits == 0 || peer.waiting_work != issued.work) continue;
    waits.emplace_back(cat(rank), Json::Object{{"waiting_since_ns", wall_or_null(recording, peer.waiting_since_ns)},
                                               {"received_bytes", static_cast<i64>(peer.received_bytes)}});
  }
  return Json::Object{{"backend", recording.backend},
                      {"generation", static_cast<i64>(issued.generation)},
                      {"instance", static_cast<i64>(recording.instance)},
                      {"signature", static_cast<i64>(issued.signature)},
                      {"bytes", static_cast<i64>(issued.value)},
                      {"reduce", std::string(name_of(issued.reduce))},
                      {"root", issued.root},
                      {"status", operation.status ? Json(std::string(name_of(*operation.status))) : Json()},
                      {"step", static_cast<i64>(operation.step)},
                      {"waits", std::move(waits)}};
}

Json entry_of(const Recording& recording, const Operation& operation, std::string_view backend, i64 pg) {
  const Record& issued = operation.issued;
  const RecordedGroup* const group = recording.find_group(issued.group, issued.generation);
  const bool pair = is_point_to_point(issued.op), started = operation.started_ns != 0, ended = operation.status.has_value();
  const Json::Array dtypes = {std::string(kTorchTypes[static_cast<std::size_t>(issued.dtype)])};
  const double duration_ms = static_cast<double>(operation.finished_ns - operation.started_ns) / 1e6;
  return Json::Object{{"record_id", static_cast<i64>(issued.work - 1)},
                      {"pg_id", pg},
                      {"process_group", Json::Array{cat(pg), group == nullptr ? cat(issued.group) : group->name}},
                      {"collective_seq_id", pair ? 0 : static_cast<i64>(issued.sequence)},
                      {"p2p_seq_id", pair ? static_cast<i64>(issued.sequence) : 0},
                      {"op_id", static_cast<i64>(issued.work)},
                      {"profiling_name", profiling_name(recording, issued, backend)},
                      {"time_created_ns", wall_or_null(recording, issued.time_ns)},
                      {"duration_ms", started && ended ? Json(duration_ms) : Json()},
                      {"input_sizes", sizes_of(issued)},
                      {"input_dtypes", dtypes},
                      {"output_sizes", output_sizes_of(issued)},
                      {"output_dtypes", dtypes},
                      {"state", ended     ? "completed"
                                : started ? "started"
                                          : "scheduled"},
                      {"retired", ended},
                      {"timeout_ms", static_cast<i64>(issued.timeout_ms)},
                      {"is_p2p", pair},
                      {"time_discovered_started_ns", wall_or_null(recording, operation.started_ns)},
                      {"time_discovered_completed_ns", wall_or_null(recording, operation.finished_ns)},
                      {"frames", Json::Array{}},
                      {"thread_id", cat(issued.thread)},
                      {"thread_name", ""},
                      {"x", extras_of(recording, operation)}};
}

struct GroupStatus {
  std::uint64_t issued = 0, started = 0, completed = 0;
};

std::string last_or_none(std::uint64_t sequence) { return sequence == 0 ? "-1" : cat(sequence); }

}  // namespace

std::string torch_json(const Recording& recording, std::string_view backend) {
  const History history = make_history(recording);
  std::map<GroupKey, i64> numbers;
  for (const RecordedGroup& group : recording.groups) numbers.try_emplace({group.group, group.generation}, 0);
  for (const Operation& operation : history.operations) numbers.try_emplace({operation.issued.group, operation.issued.generation}, 0);
  i64 next = 0;
  for (auto& [key, number] : numbers) number = next++;

  std::map<i64, GroupStatus> statuses;
  Json::Array entries;
  for (const Operation& operation : history.operations) {
    const i64 pg = numbers.at({operation.issued.group, operation.issued.generation});
    if (operation.issued.time_ns == 0) continue;  // what it was is no longer recorded
    entries.push_back(entry_of(recording, operation, backend, pg));
    if (is_point_to_point(operation.issued.op)) continue;
    GroupStatus& status = statuses[pg];
    status.issued = std::max(status.issued, operation.issued.sequence);
    if (operation.started_ns != 0) status.started = std::max(status.started, operation.issued.sequence);
    if (operation.status) status.completed = std::max(status.completed, operation.issued.sequence);
  }
  Json::Object configs, states;
  for (const auto& [key, number] : numbers) {
    const RecordedGroup* const group = recording.find_group(key.first, key.second);
    configs.emplace_back(cat(number), Json::Object{{"name", cat(number)},
                                                   {"desc", group == nullptr ? cat(key.first) : group->name},
                                                   {"ranks", group == nullptr ? std::string("[]") : cat(group->members)}});
    const GroupStatus& status = statuses[number];
    states.emplace_back(cat(number), Json::Object{{"last_enqueued_collective", last_or_none(status.issued)},
                                                  {"last_started_collective", last_or_none(status.started)},
                                                  {"last_completed_collective", last_or_none(status.completed)}});
  }
  return write_json(Json::Object{{"version", "2.10"},
                                 {"comm_lib_version", "resilin"},
                                 {"pg_config", std::move(configs)},
                                 {"pg_status", std::move(states)},
                                 {"entries", std::move(entries)}});
}

}  // namespace resilin::dist
