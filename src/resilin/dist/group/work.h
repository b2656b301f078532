// src/resilin/dist/group/work.h -- Work: what becomes of a collective that was started.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "resilin/base/api.h"
#include "resilin/tensor/tensor.h"

namespace resilin::dist {

/// Running until it is one of the others, for ever. Failed: the collective itself went wrong, here or at a peer. Cancelled: its generation
/// ended before it.
enum class WorkState : std::uint8_t { Running, Success, Failed, Cancelled };
constexpr std::array<std::string_view, 4> enum_names(WorkState*) { return {"running", "success", "failed", "cancelled"}; }

struct WorkBody;

/// A handle on a collective under way; copies speak of the same one. It keeps the collective's tensors until the end, so the caller may let go
/// of its own. From the end on nothing writes them.
///
/// Threads  any thread may call
class RESILIN_API Work {
 public:
  Work() = default;  // of nothing: is_completed
  explicit Work(std::shared_ptr<WorkBody> body) : body_(std::move(body)) {}

  WorkState state() const;
  bool is_completed() const { return state() != WorkState::Running; }
  bool is_success() const { return state() == WorkState::Success; }
  /// What `wait` would throw; null while it runs and after success.
  std::exception_ptr exception() const;
  /// Of the collectives of the generation, from 1 on; of Send and Recv among those of their pair and tag.
  std::uint64_t sequence() const;
  std::uint64_t generation() const;
  /// The outputs, as they were given.
  const std::vector<Tensor>& result() const;

  /// Moves the group's bytes until the Work is done, in this thread, at most for `patience`.
  ///
  /// Errors  TimeoutError when the patience is over, and the Work goes on; WouldBlockError in a callback of this group; else what went wrong, at
  ///         every call: PeerError, PeerLeftError, TimeoutError, MismatchError, CancelledError, EvictedError
  void wait(std::optional<std::chrono::milliseconds> patience = std::nullopt) const;

  /// Calls back after the end, in a thread of the group's own, in the order of the ends; at once there when it has ended.
  void then(std::function<void(const Work&)> callback) const;

 private:
  std::shared_ptr<WorkBody> body_;
};

}  // namespace resilin::dist
