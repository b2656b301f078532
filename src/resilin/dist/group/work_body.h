// src/resilin/dist/group/work_body.h -- Internal: what handles of one Work share.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "resilin/dist/collective/call.h"
#include "resilin/dist/collective/collective.h"
#include "resilin/dist/collective/execution.h"
#include "resilin/dist/group/failure.h"
#include "resilin/dist/group/work.h"
#include "resilin/dist/recorder/recorder.h"

namespace resilin::dist {

class Mesh;

struct WorkBody {
  std::shared_ptr<Mesh> mesh;  // null in a Work that never ran
  Collective collective;
  CollectiveCall call;
  Signature signature;
  std::uint64_t sequence = 0;
  std::uint64_t generation = 0;
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds deadline{0};
  WorkMark mark;
  bool has_started = false;              // its first byte went out
  std::unique_ptr<Execution> execution;  // while it runs; the mesh's
  std::atomic<WorkState> state{WorkState::Running};
  Failure failure;                                          // written before `state`
  std::vector<std::function<void(const Work&)>> callbacks;  // the mesh's

  bool is_done() const { return state.load(std::memory_order_acquire) != WorkState::Running; }
  /// "all_reduce(sum, f32, 4 elements), number 3 of generation 1 of group default".
  std::string describe() const;
};

}  // namespace resilin::dist
