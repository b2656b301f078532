// src/resilin/dist/recorder/dump.cpp -- a recording as our own JSON and as lines.
#include "resilin/dist/recorder/dump.h"

#include <algorithm>

#include "resilin/base/json.h"
#include "resilin/base/text.h"
#include "resilin/dist/recorder/history.h"
#include "resilin/dist/recorder/scene.h"

namespace resilin::dist {
namespace {

/// JSON integers end where i64 does; hashes and instances go in as the same bits.
Json number(std::uint64_t value) { return Json(static_cast<i64>(value)); }

Json group_json(const RecordedGroup& group) {
  Json::Array members;
  for (const std::int32_t member : group.members) members.emplace_back(member);
  return Json::Object{{"group", static_cast<i64>(group.group)},
                      {"generation", number(group.generation)},
                      {"name", group.name},
                      {"description", group.description},
                      {"members", std::move(members)}};
}

Json peer_json(const RecordedPeer& peer) {
  return Json::Object{{"waits", number(peer.waits)},
                      {"waiting_since_ns", number(peer.waiting_since_ns)},
                      {"waiting_work", number(peer.waiting_work)},
                      {"sent_bytes", number(peer.sent_bytes)},
                      {"received_bytes", number(peer.received_bytes)},
                      {"heard_ns", number(peer.heard_ns)}};
}

Json operation_json(const Operation& operation) {
  const Record& issued = operation.issued;
  Json::Array dims;
  for (std::size_t i = 0; i < std::min<std::size_t>(issued.axes, kRecordedDims); ++i) dims.emplace_back(static_cast<i64>(issued.dims[i]));
  return Json::Object{{"work", number(issued.work)},
                      {"group", static_cast<i64>(issued.group)},
                      {"generation", number(issued.generation)},
                      {"sequence", number(issued.sequence)},
                      {"op", std::string(name_of(issued.op))},
                      {"dtype", std::string(name(issued.dtype))},
                      {"reduce", std::string(name_of(issued.reduce))},
                      {"root", issued.root},
                      {"peer", issued.peer},
                      {"signature", number(issued.signature)},
                      {"bytes", number(issued.value)},
                      {"tensors", static_cast<i64>(issued.tensors)},
                      {"axes", static_cast<i64>(issued.axes)},
                      {"dims", std::move(dims)},
                      {"input_elements", number(issued.input_elements)},
                      {"output_elements", number(issued.output_elements)},
                      {"timeout_ms", static_cast<i64>(issued.timeout_ms)},
                      {"thread", static_cast<i64>(issued.thread)},
                      {"step", number(operation.step)},
                      {"issued_ns", number(issued.time_ns)},
                      {"started_ns", number(operation.started_ns)},
                      {"finished_ns", number(operation.finished_ns)},
                      {"wait_began_ns", number(operation.wait_began_ns)},
                      {"status", operation.status ? Json(std::string(name_of(*operation.status))) : Json()}};
}

std::string_view detail_of(const Record& record) {
  if (record.kind == RecordKind::Finished) return name_of(record.status());
  if (record.kind == RecordKind::Membership) return name_of(record.phase());
  if (record.kind == RecordKind::PeerLost) return name_of(record.evidence());
  return "";
}

Json event_json(const Record& record) {
  return Json::Object{{"time_ns", number(record.time_ns)},
                      {"kind", std::string(name_of(record.kind))},
                      {"detail", std::string(detail_of(record))},
                      {"generation", number(record.generation)},
                      {"peer", record.peer},
                      {"incident", number(record.value)}};
}

template <class T, class Write>
Json list_of(const std::vector<T>& items, Write write) {
  Json::Array list;
  for (const T& item : items) list.push_back(write(item));
  return list;
}

std::string line_of(const Recording& recording, const Record& record) {
  const std::uint64_t since = record.time_ns - recording.opened_ns;
  std::string line = cat("  +", duration_text(since), "  ", name_of(record.kind));
  const std::string_view detail = detail_of(record);
  if (!detail.empty()) line += cat(" ", detail);
  if (record.work != 0) {
    const RecordedGroup* const group = recording.find_group(record.group, record.generation);
    line += cat("  ", record.kind == RecordKind::Issued ? describe(record) : std::string(name_of(record.op)), " #", record.sequence,
                " of group ", group == nullptr ? cat(record.group) : group->name, ", generation ", record.generation);
  } else if (record.kind == RecordKind::Step) {
    line += cat(" ", record.value);
  } else {
    line += cat("  generation ", record.generation);
  }
  if (record.peer != kNoRank) line += cat(", peer ", record.peer);
  return line;
}

}  // namespace

std::string recording_json(const Recording& recording) {
  const History history = make_history(recording);
  const Json steps = list_of(history.steps, [](const RecordedStep& step) {
    return Json(Json::Object{{"step", number(step.step)}, {"began_ns", number(step.began_ns)}});
  });
  return write_json(Json::Object{{"version", 1},
                                 {"source", recording.source},
                                 {"job", recording.job},
                                 {"host", recording.host},
                                 {"backend", recording.backend},
                                 {"rank", recording.rank},
                                 {"world", recording.world},
                                 {"instance", number(recording.instance)},
                                 {"process", recording.process},
                                 {"opened_ns", number(recording.opened_ns)},
                                 {"opened_wall_ns", number(recording.opened_wall_ns)},
                                 {"beat_ns", number(recording.beat_ns)},
                                 {"step", number(recording.step)},
                                 {"epoch", number(recording.epoch)},
                                 {"ending", std::string(name_of(recording.ending))},
                                 {"ended_ns", number(recording.ended_ns)},
                                 {"overwritten", number(recording.overwritten)},
                                 {"torn", number(recording.torn)},
                                 {"groups", list_of(recording.groups, group_json)},
                                 {"peers", list_of(recording.peers, peer_json)},
                                 {"operations", list_of(history.operations, operation_json)},
                                 {"steps", steps},
                                 {"events", list_of(history.events, event_json)}});
}

std::string recording_text(const Recording& recording) {
  std::string text = cat("rank ", recording.rank, " of ", recording.world, " on ", recording.host, ", process ", recording.process,
                         ", step ", recording.step, ", ", name_of(recording.ending), "\n");
  if (recording.overwritten != 0) text += cat("  ", recording.overwritten, " older events are no longer recorded\n");
  if (recording.torn != 0) text += cat("  ", recording.torn, " records were half written\n");
  for (const Record& record : recording.records) text += line_of(recording, record) + "\n";
  for (std::size_t rank = 0; rank < recording.peers.size(); ++rank) {
    const RecordedPeer& peer = recording.peers[rank];
    if (peer.waits != 0) text += cat("  waits for rank ", rank, " in work ", peer.waiting_work, "\n");
  }
  return text;
}

}  // namespace resilin::dist
