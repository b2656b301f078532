// tests/parallel/step_state_test.cpp -- a run that goes on from a checkpoint takes the same steps, bit for bit.
#include "resilin/parallel/step_state.h"

#include <fstream>

#include <doctest/doctest.h>

#include "resilin/autograd/backward.h"
#include "resilin/data/prefetch.h"
#include "resilin/nn/gpt.h"
#include "resilin/ops/loss/cross_entropy.h"
#include "resilin/ops/view/shape.h"
#include "resilin/tensor/allocator.h"

#include "tests/support/temporary_folder.h"

using namespace resilin;

namespace {

constexpr i64 kLength = 8;

std::string write_text(const std::string& folder) {
  const std::string path = folder + "/text";
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < 700; ++i) file << "abcdefgh "[i * i % 9] << i % 10;
  return path;
}

/// A model with dropout, so that the generator is part of the state.
struct Run {
  explicit Run(const std::string& text)
      : batches(data::ByteFile(text), {.batch = 5, .length = kLength, .seed = 4}),
        model({.block_size = kLength, .n_layer = 1, .n_head = 2, .n_embd = 16, .dropout = 0.25}),
        optimizer(nn::parameters(model), {.lr = 1e-2}) {
    state.add_model(model);
    state.add_optimizer(optimizer);
    state.add_generator(default_generator());
    state.add({"position",
               [this] {
                 return parallel::StepState::bytes_of_numbers({step, position.epoch, position.step});
               },
               [this](std::string_view bytes) {
                 const std::vector<i64> numbers = parallel::StepState::numbers_of_bytes(bytes);
                 step = numbers.at(0);
                 position = {numbers.at(1), numbers.at(2)};
               }});
    state.seal();
  }

  std::vector<float> take_steps(i64 count) {
    data::Prefetch prefetch(batches, {.start = position});
    std::vector<float> losses;
    for (i64 i = 0; i < count; ++i) {
      const data::Batch batch = prefetch.next();
      const Dim tokens = batch.targets.numel();
      const Tensor loss = cross_entropy(reshape(model(batch.inputs), {tokens, 256}), reshape(batch.targets, {tokens}));
      backward(loss);
      optimizer.step();
      optimizer.zero_grad();
      losses.push_back(loss.item<float>());
      ++step;
      position = data::following(batch.position, batches.steps_per_epoch());
    }
    return losses;
  }

  data::ByteBatches batches;
  nn::GPT model;
  optim::AdamW optimizer;
  i64 step = 0;
  data::Position position;  // of the next batch
  parallel::StepState state;
};

}  // namespace

TEST_CASE("twenty steps after a checkpoint are those of the run that was not interrupted") {
  const testing::TemporaryFolder folder;
  const std::string text = write_text(folder.path());
  default_generator().manual_seed(5);
  Run run(text);
  run.take_steps(40);  // into the second epoch
  save_checkpoint(folder.path() + "/checkpoints", run.state.checkpoint(run.step));
  const std::vector<float> expected = run.take_steps(20);

  default_generator().manual_seed(77);
  Run resumed(text);
  const std::optional<Checkpoint> checkpoint = load_latest(folder.path() + "/checkpoints");
  REQUIRE(checkpoint.has_value());
  resumed.state.restore(*checkpoint);
  CHECK(resumed.step == 40);
  CHECK(resumed.position.epoch == 1);
  CHECK(resumed.take_steps(20) == expected);
}

TEST_CASE("a steady run takes no new memory from the system over a thousand steps") {
  const testing::TemporaryFolder folder;
  Run run(write_text(folder.path()));
  run.take_steps(2000);  // by then every size that the two threads hold at the same time has been seen
  const i64 before = allocator_stats().reserved_bytes;
  run.take_steps(1000);
  CHECK(allocator_stats().reserved_bytes <= before);
}
