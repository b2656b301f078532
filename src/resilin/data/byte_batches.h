// src/resilin/data/byte_batches.h -- ByteBatches: training batches of a text of bytes, each a pure function of seed, epoch and step.
#pragma once

#include <vector>

#include "resilin/data/byte_file.h"
#include "resilin/tensor/tensor.h"

namespace resilin::data {

/// Which batch of a run: `step` counts from 0 within its epoch.
struct Position {
  i64 epoch = 0;
  i64 step = 0;
  friend bool operator==(const Position& a, const Position& b) = default;
};
/// The next step, or the first of the next epoch.
inline Position following(Position position, i64 steps_per_epoch) {
  return position.step + 1 < steps_per_epoch ? Position{position.epoch, position.step + 1} : Position{position.epoch + 1, 0};
}

/// Sequences and, for each, the same moved on by one byte.
struct Batch {
  Position position;
  Tensor inputs;   // i64 [B, T]
  Tensor targets;  // i64 [B, T]
};

struct ByteBatchesOptions {
  i64 batch = 1;           // B: sequences in a batch
  i64 length = 1;          // T: bytes in a sequence
  i64 seed = 0;            // of the order
  bool shuffle = true;     // false: in the order of the text, in every epoch
  bool drop_last = false;  // leave the rest of an epoch out that fills no batch; else its last batch has fewer sequences
};

/// A text of n bytes has (n - 1) / T slots, rounded down: slot s reads the bytes [s T, s T + T] (the last one is only a target). An epoch visits
/// every slot once, in an order of its own; nothing is kept between calls, so a run continues anywhere. Copies share the text.
class RESILIN_API ByteBatches {
 public:
  /// ArgumentError when batch or length is < 1, the text is shorter than T + 1 bytes, or drop_last leaves no batch.
  ByteBatches(ByteFile text, const ByteBatchesOptions& options);

  i64 slots() const { return slots_; }
  i64 steps_per_epoch() const { return steps_; }
  const ByteBatchesOptions& options() const { return options_; }

  /// Where the sequences of a batch start in the text, B of them or, in the last batch of an epoch, the rest.
  /// ArgumentError unless epoch >= 0 and 0 <= step < steps_per_epoch().
  std::vector<i64> offsets(Position position) const;
  /// The batch of these offsets; B is their number.
  Batch make(Position position) const;

 private:
  ByteFile text_;
  ByteBatchesOptions options_;
  i64 slots_ = 0;
  i64 steps_ = 0;
};

}  // namespace resilin::data
