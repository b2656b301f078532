// tools/resilin/text_task.h -- the task of `resilin train`: to tell the next byte of a text. Its loss, its measures, its samples.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "resilin/data/byte_batches.h"
#include "resilin/data/byte_file.h"
#include "resilin/nn/gpt.h"
#include "resilin/tensor/tensor.h"

namespace resilin::tool {

/// The classes of the task: all bytes.
inline constexpr i64 kByteClasses = 256;

/// The sum, over the sequences of a slot, of the mean loss of a sequence's bytes, in nats. Sums of slots add up, and so do their gradients: divided by the
/// number of sequences in all slots of a step they are the step's mean, however the slots were shared out.
Tensor slot_loss(const nn::GPT& model, const data::Batch& slot);

/// The mean loss of a byte, in nats, over the whole sequences of `length` bytes of a text; without dropout, which is as it was afterwards.
/// ArgumentError for a text that is shorter than length + 1 bytes.
double held_out_loss(nn::GPT& model, const data::ByteFile& text, i64 length);

/// Continues a text by `count` bytes, each drawn from the model's distribution at temperature 0.8; without dropout, as above. ArgumentError when there
/// is no text to continue.
std::string sample(nn::GPT& model, std::string text, i64 count, i64 seed = 1);

/// What is left to guess of a byte when the one before it is known, in nats: the loss of the best model that looks back one byte and knows this text. 0 for
/// less than two bytes.
double bigram_entropy(std::span<const std::uint8_t> text);

}  // namespace resilin::tool
