// src/resilin/parallel/goodput.h -- Goodput: what the time of a rank was spent for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "resilin/base/api.h"

namespace resilin::parallel {

/// Protect is what fault tolerance costs while nothing fails: digests, the ledger, and the processor time of votes. Idle is waiting for other ranks, in a
/// sum or in a vote.
enum class Spent : std::uint8_t { Train, Data, Checkpoint, Recover, Protect, Idle };
constexpr std::array<std::string_view, 6> enum_names(Spent*) { return {"train", "data", "checkpoint", "recover", "protect", "idle"}; }

/// Every moment since its making counts for one thing.
///
/// Threads  one
class RESILIN_API Goodput {
 public:
  Goodput();
  double seconds(Spent what) const;
  double total_seconds() const;

  /// For the length of a scope; what is inside another counts for the inner one.
  class RESILIN_API Scope {
   public:
    Scope(Goodput& goodput, Spent what) : goodput_(goodput), before_(goodput.enter(what)) {}
    ~Scope() { goodput_.enter(before_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Goodput& goodput_;
    Spent before_;
  };

  /// For the length of a scope inside a Scope: what this thread computes in it counts for `what`, and no longer for what the Scope says.
  class RESILIN_API ProcessorTime {
   public:
    ProcessorTime(Goodput& goodput, Spent what);
    ~ProcessorTime();
    ProcessorTime(const ProcessorTime&) = delete;
    ProcessorTime& operator=(const ProcessorTime&) = delete;

   private:
    Goodput& goodput_;
    const Spent what_;
    const std::int64_t begin_ns_;
  };

 private:
  Spent enter(Spent what);

  std::array<std::int64_t, 6> spent_ns_{};
  Spent now_ = Spent::Idle;
  std::int64_t since_ns_ = 0;
};

}  // namespace resilin::parallel
