// src/resilin/data/prefetch.h -- Prefetch: a thread that makes the next batches while the caller works on this one.
#pragma once

#include <functional>
#include <memory>

#include "resilin/data/byte_batches.h"

namespace resilin::data {

struct PrefetchOptions {
  Position start = {};  // of the first batch
  i64 depth = 2;        // batches that are made ahead at most
};

/// Gives the batches from `start` on, one after another and epoch after epoch, exactly those that the source makes at these positions.
/// One thread, this object's own, calls the source; destruction waits for the batch that is being made and drops what is ahead.
class RESILIN_API Prefetch {
 public:
  /// Makes the batch of a position; is called by one thread, never twice at a time.
  using Source = std::function<Batch(Position)>;

  explicit Prefetch(const ByteBatches& batches, const PrefetchOptions& options = {});
  /// ArgumentError when depth or steps_per_epoch is < 1 or `start` is no position; UnsupportedError when the system refuses the thread.
  Prefetch(Source source, i64 steps_per_epoch, const PrefetchOptions& options = {});
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;
  ~Prefetch();

  /// The next batch; waits until it is made. What the source threw is thrown here in the place of its batch, and at every later call.
  Batch next();

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

}  // namespace resilin::data
