// src/resilin/data/byte_batches.cpp -- which slots a batch has, and its tensors.
#include "resilin/data/byte_batches.h"

#include <algorithm>
#include <utility>

#include "resilin/data/permutation.h"

namespace resilin::data {
namespace {

void copy_row(const std::uint8_t* from, i64 length, i64* to) {
  for (i64 i = 0; i < length; ++i) to[i] = from[i];
}

}  // namespace

ByteBatches::ByteBatches(ByteFile text, const ByteBatchesOptions& options) : text_(std::move(text)), options_(options) {
  if (options.batch < 1 || options.length < 1) {
    throw ArgumentError(cat("byte_batches: batch is ", options.batch, ", length is ", options.length, "; both must be >= 1"));
  }
  slots_ = (text_.size_bytes() - 1) / options.length;
  if (slots_ < 1) {
    throw ArgumentError(cat("byte_batches: the text is too short: ", text_.size_bytes(), " bytes for sequences of ", options.length, ": ",
                            text_.path(), "; one more byte than a sequence has is needed"));
  }
  steps_ = slots_ / options.batch + (!options.drop_last && slots_ % options.batch != 0 ? 1 : 0);
  if (steps_ < 1) {
    throw ArgumentError(cat("byte_batches: no batch is full: ", slots_, " sequences of ", options.length, " bytes, a batch has ",
                            options.batch, ": ", text_.path(), "; with drop_last one must be full"));
  }
}

std::vector<i64> ByteBatches::offsets(Position position) const {
  if (position.epoch < 0 || position.step < 0 || position.step >= steps_) {
    throw ArgumentError(cat("byte_batches: there is no batch at epoch ", position.epoch, ", step ", position.step, "; an epoch has ",
                            steps_, " steps, both count from 0"));
  }
  const i64 first = position.step * options_.batch;
  const i64 count = std::min(options_.batch, slots_ - first);
  std::vector<i64> out;
  for (i64 i = first; i < first + count; ++i) {
    const i64 slot = options_.shuffle ? permuted(i, slots_, options_.seed, position.epoch) : i;
    out.push_back(slot * options_.length);
  }
  return out;
}

Batch ByteBatches::make(Position position) const {
  const std::vector<i64> starts = offsets(position);
  const i64 length = options_.length;
  const Dim shape[] = {static_cast<i64>(starts.size()), length};
  const Batch batch{position, Tensor::allocate(shape, DType::I64), Tensor::allocate(shape, DType::I64)};
  i64* inputs = batch.inputs.data_as<i64>();
  i64* targets = batch.targets.data_as<i64>();
  for (const i64 start : starts) {
    const std::uint8_t* const from = text_.bytes().data() + start;
    copy_row(from, length, inputs);
    copy_row(from + 1, length, targets);
    inputs += length;
    targets += length;
  }
  return batch;
}

}  // namespace resilin::data
