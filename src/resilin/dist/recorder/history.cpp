// src/resilin/dist/recorder/history.cpp -- putting the records of each Work together.
#include "resilin/dist/recorder/history.h"

#include <map>
#include <utility>

namespace resilin::dist {
namespace {

class Assembler {
 public:
  explicit Assembler(const Recording& recording) : recording_(recording) { history_.recording = &recording; }

  History run() {
    for (const Record& record : recording_.records) take(record);
    // The step that was under way when the ring's oldest record was written is not there from its beginning.
    for (std::size_t i = 0; i + 1 < history_.steps.size(); ++i) history_.steps[i].whole = true;
    return std::move(history_);
  }

 private:
  void take(const Record& record) {
    switch (record.kind) {
      case RecordKind::Issued: operation_of(record).issued = record; break;
      case RecordKind::Started: operation_of(record).started_ns = record.time_ns; break;
      case RecordKind::Finished: finish(operation_of(record), record); break;
      case RecordKind::WaitBegan: operation_of(record).wait_began_ns = record.time_ns; break;
      case RecordKind::WaitEnded:
        // A wait that ended because its Work failed is kept: it says whom the rank needed.
        if (!operation_of(record).is_open()) operation_of(record).wait_began_ns = 0;
        if (!operation_of(record).status) operation_of(record).wait_began_ns = 0;
        break;
      case RecordKind::Step: history_.steps.push_back({record.value, record.time_ns, false}); break;
      case RecordKind::Revoked:
        if (history_.revoked_ns == 0) history_.revoked_ns = record.time_ns;
        history_.events.push_back(record);
        break;
      case RecordKind::Membership:
      case RecordKind::PeerLost: history_.events.push_back(record); break;
    }
  }

  Operation& operation_of(const Record& record) {
    const auto [found, added] = by_work_.try_emplace(record.work, history_.operations.size());
    if (added) {
      Operation& operation = history_.operations.emplace_back();
      operation.issued = record;
      operation.issued.time_ns = 0;
      if (!history_.steps.empty()) operation.step = history_.steps.back().step;
    }
    return history_.operations[found->second];
  }

  static void finish(Operation& operation, const Record& record) {
    operation.finished_ns = record.time_ns;
    operation.status = record.status();
  }

  const Recording& recording_;
  History history_;
  std::map<std::uint64_t, std::size_t> by_work_;
};

}  // namespace

History make_history(const Recording& recording) { return Assembler(recording).run(); }

}  // namespace resilin::dist
