// tools/resilin/text_task.cpp -- losses, measures and samples of a model of bytes.
#include "tools/resilin/text_task.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "resilin/resilin.h"

namespace resilin::tool {
namespace {

constexpr i64 kMeasuredBatch = 64;
constexpr double kTemperature = 0.8;

/// The model as it is used, not trained, until the end of the scope.
class Evaluation {
 public:
  explicit Evaluation(nn::GPT& model) : model_(model), was_training_(model.transformer.drop.training) { nn::set_training(model_, false); }
  ~Evaluation() { nn::set_training(model_, was_training_); }
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

 private:
  nn::GPT& model_;
  const bool was_training_;
  const NoGrad no_grad_;
};

std::size_t draw(const Tensor& chances, Generator& generator) {
  const float drawn = rand({}, DType::F32, &generator).item<float>();
  const float* const upper = chances.data_as<float>();
  // Rounded, the last sum may be less than what was drawn.
  return static_cast<std::size_t>(std::min<std::ptrdiff_t>(std::upper_bound(upper, upper + kByteClasses, drawn) - upper, kByteClasses - 1));
}

}  // namespace

Tensor slot_loss(const nn::GPT& model, const data::Batch& slot) {
  const Dim tokens = slot.targets.numel();
  const Tensor logits = reshape(model(slot.inputs), {tokens, kByteClasses});
  return cross_entropy(logits, reshape(slot.targets, {tokens}), {.reduction = Reduction::Sum}) /
         static_cast<double>(slot.inputs.size(1).value());
}

double held_out_loss(nn::GPT& model, const data::ByteFile& text, i64 length) {
  const Evaluation evaluation(model);
  const data::ByteBatches batches(text, {.batch = kMeasuredBatch, .length = length, .shuffle = false});
  double total = 0;
  for (i64 step = 0; step < batches.steps_per_epoch(); ++step) total += slot_loss(model, batches.make({0, step})).item<double>();
  return total / static_cast<double>(batches.slots());
}

std::string sample(nn::GPT& model, std::string text, i64 count, i64 seed) {
  if (text.empty()) throw ArgumentError("sample: there is no text to continue; one byte at least is needed");
  const Evaluation evaluation(model);
  Generator generator(static_cast<std::uint64_t>(seed));
  for (i64 i = 0; i < count; ++i) {
    const std::size_t length = std::min(text.size(), static_cast<std::size_t>(model.config.block_size));
    std::vector<i64> context;
    for (const char c : text.substr(text.size() - length)) context.push_back(static_cast<unsigned char>(c));
    const Dim shape[] = {1, static_cast<i64>(length)};
    const Tensor logits = select(select(model(Tensor::of<i64>(context, shape)), 0, 0), 0, -1);
    text += static_cast<char>(draw(cumsum(softmax(logits / kTemperature), 0), generator));
  }
  return text;
}

double bigram_entropy(std::span<const std::uint8_t> text) {
  constexpr std::size_t kBytes = static_cast<std::size_t>(kByteClasses);
  std::vector<i64> pairs(kBytes * kBytes, 0);
  std::array<i64, kBytes> firsts{};
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    ++pairs[text[i] * kBytes + text[i + 1]];
    ++firsts[text[i]];
  }
  double entropy = 0;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    if (pairs[p] == 0) continue;
    const double count = static_cast<double>(pairs[p]);
    entropy -= count / static_cast<double>(text.size() - 1) * std::log(count / static_cast<double>(firsts[p / kBytes]));
  }
  return entropy;
}

}  // namespace resilin::tool
