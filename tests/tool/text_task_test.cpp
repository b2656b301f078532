// tests/tool/text_task_test.cpp -- the loss of a slot, what is measured of a model of bytes, and its samples.
#include "tools/resilin/text_task.h"

#include <cmath>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/resilin.h"

#include "tests/support/temporary_folder.h"

namespace resilin::tool {
namespace {

double entropy_of(std::string_view text) { return bigram_entropy({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}); }

TEST_CASE("the bigram entropy of small texts, by hand") {
  CHECK(entropy_of("") == 0);
  CHECK(entropy_of("a") == 0);
  CHECK(entropy_of("aaaa") == 0);
  CHECK(entropy_of("ababab") == 0);
  // aa, ab, ba: of the two bytes after an a each is one half.
  CHECK(entropy_of("aaba") == doctest::Approx(2.0 / 3 * std::log(2.0)));
  // Each of the four pairs once.
  CHECK(entropy_of("aabba") == doctest::Approx(std::log(2.0)));
  // ab twice, ac once, ba twice: of three pairs that begin with a two go to b.
  CHECK(entropy_of("ababac") == doctest::Approx(-(2 * std::log(2.0 / 3) + std::log(1.0 / 3)) / 5));
  CHECK(entropy_of("\xff\xfe\xff\xff") == doctest::Approx(2.0 / 3 * std::log(2.0)));
}

constexpr i64 kLength = 8;

struct Text {
  explicit Text(i64 bytes) {
    std::ofstream file(path, std::ios::binary);
    for (i64 i = 0; i < bytes; ++i) file << "abcdefgh "[i * i % 9];
  }
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/text";
};

nn::GPT small_model(double dropout = 0) {
  default_generator().manual_seed(3);
  return nn::GPT({.block_size = kLength, .n_layer = 1, .n_head = 2, .n_embd = 16, .dropout = dropout});
}

/// By the definition, from the probabilities of each byte.
double loss_by_hand(const nn::GPT& model, const data::Batch& batch) {
  const NoGrad no_grad;
  const Tensor chances = softmax(model(batch.inputs), {-1});
  double total = 0;
  for (i64 b = 0; b < batch.inputs.size(0).value(); ++b) {
    double sequence = 0;
    for (i64 t = 0; t < kLength; ++t) {
      const i64 target = select(select(batch.targets, 0, b), 0, t).item<i64>();
      sequence -= std::log(select(select(select(chances, 0, b), 0, t), 0, target).item<double>());
    }
    total += sequence / static_cast<double>(kLength);
  }
  return total;
}

TEST_CASE("the loss of a slot is the sum of its sequences' means, and slots add up to their batch, gradients too") {
  const Text text(2000);
  const nn::GPT model = small_model();
  const data::ByteFile file(text.path);
  const auto batches_of = [&](i64 batch) {
    return data::ByteBatches(file, {.batch = batch, .length = kLength, .shuffle = false, .drop_last = true});
  };
  const data::Batch whole = batches_of(6).make({0, 0});
  const double total = slot_loss(model, whole).item<double>();
  CHECK(total == doctest::Approx(loss_by_hand(model, whole)).epsilon(1e-4));
  CHECK(total == doctest::Approx(6 * std::log(256.0)).epsilon(0.05));  // nothing is learnt yet

  const std::vector<Tensor> parameters = nn::parameters(model);
  backward(slot_loss(model, whole));
  std::vector<Tensor> gradients;
  for (const Tensor& x : parameters) gradients.push_back(grad(x));
  for (const Tensor& x : parameters) clear_grad(x);
  double sum = 0;
  for (i64 slot = 0; slot < 3; ++slot) {
    const Tensor loss = slot_loss(model, batches_of(2).make({0, slot}));
    sum += loss.item<double>();
    backward(loss);  // gradients are added
  }
  CHECK(sum == doctest::Approx(total).epsilon(1e-5));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const double difference = amax(abs(grad(parameters[i]) - gradients[i])).item<double>();
    const double largest = amax(abs(gradients[i])).item<double>();
    CHECK(difference <= 1e-4 * largest + 1e-6);
  }
}

TEST_CASE("the held-out loss is the mean of all whole sequences, also when the last batch is smaller") {
  const Text text(70 * kLength + 5);
  nn::GPT model = small_model();
  const data::ByteFile file(text.path);
  const data::ByteBatches each(file, {.batch = 1, .length = kLength, .shuffle = false});
  REQUIRE(each.slots() == 70);
  double total = 0;
  for (i64 step = 0; step < each.steps_per_epoch(); ++step) total += loss_by_hand(model, each.make({0, step}));
  CHECK(held_out_loss(model, file, kLength) == doctest::Approx(total / 70).epsilon(1e-4));
  CHECK_THROWS_AS(held_out_loss(model, file.part(0, kLength), kLength), ArgumentError);
}

TEST_CASE("measuring and sampling use no dropout and leave it, and no history, behind") {
  const Text text(40 * kLength);
  const data::ByteFile file(text.path);
  nn::GPT model = small_model(0.5), plain = small_model();
  nn::load_state_dict(plain, nn::state_dict(model));
  CHECK(held_out_loss(model, file, kLength) == held_out_loss(plain, file, kLength));
  CHECK(sample(model, "ab", 12) == sample(plain, "ab", 12));
  CHECK(model.transformer.drop.training);
  CHECK(is_grad_enabled());
  nn::set_training(model, false);
  held_out_loss(model, file, kLength);
  CHECK_FALSE(model.transformer.drop.training);
}

TEST_CASE("a sample continues its text, beyond the length of the model, alike for a seed") {
  nn::GPT model = small_model();
  const std::string text = sample(model, "abc", 30);
  CHECK(text.size() == 33);
  CHECK(text.starts_with("abc"));
  CHECK(sample(model, "abc", 30) == text);
  CHECK(sample(model, "abc", 30, 2) != text);
  CHECK(sample(model, "abc", 0) == "abc");
  CHECK_THROWS_AS(sample(model, "", 3), ArgumentError);
}

TEST_CASE("a sample follows the model's distribution") {
  nn::GPT model = small_model();
  // The head's weight is the table of tokens: a large row makes its token certain when the features point that way.
  const NoGrad no_grad;
  for (const auto& [name, tensor] : nn::state_dict(model)) {
    if (name == "transformer.ln_f.bias") add_(tensor, 1.0);
    if (name == "lm_head.weight") add_(select(tensor, 0, 'x'), 100.0);
  }
  CHECK(sample(model, "a", 20) == "a" + std::string(20, 'x'));
}

}  // namespace
}  // namespace resilin::tool
