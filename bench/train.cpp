// bench/train.cpp -- recorded ops and whole training steps against libtorch and against PyTorch from Python.
#include "resilin/resilin.h"

#include "bench/support/compare.h"
#include "bench/support/python_peer.h"
#include "bench/support/torch_peer.h"

namespace {

using resilin::Dim;
using resilin::DType;
using resilin::i64;
using resilin::Tensor;
using resilin::bench::Comparison;
using resilin::bench::Report;

constexpr i64 kBatch = 12;
constexpr i64 kLength = 64;
constexpr i64 kLayers = 4;
constexpr i64 kHeads = 4;
constexpr i64 kWidth = 128;

void recorded_rows(Report& report) {
  const auto row = [&](const std::string& name, std::function<void()> call, const std::string& op, double wanted) {
    report.compare({.name = name,
                    .ours = std::move(call),
                    .peer = resilin::bench::torch_call(op, 0, 16, 1),
                    .peer_name = resilin::bench::torch_name(),
                    .wanted = wanted,
                    .note = "1 thread"});
  };
  const Tensor x = requires_grad_(resilin::rand({16}));
  const Tensor y = resilin::rand({16});
  row(
      "add f32[16] with a gradient", [&] { add(x, y); }, "add_grad", 5);
  row(
      "ten adds and a sum f32[16], forward and backward",
      [&] {
        Tensor z = x;
        for (int i = 0; i < 10; ++i) z = z + y;
        backward(sum(z));
        clear_grad(x);
      },
      "ten_adds", 10);

  resilin::nn::Linear first(16, 32);
  resilin::nn::Linear second(32, 1);
  resilin::optim::SGD optimizer({first.weight, first.bias, second.weight, second.bias}, {.lr = 1e-3});
  const Tensor in = resilin::rand({8, 16});
  const Tensor wanted = resilin::rand({8, 1});
  row(
      "step of an MLP 16-32-1, batch 8, SGD",
      [&] {
        const Tensor error = second(relu(first(in))) - wanted;
        optimizer.zero_grad();
        backward(mean(error * error));
        optimizer.step();
      },
      "mlp_step", 6);
}

void gpt_row(Report& report, DType dtype, int threads) {
  resilin::set_thread_count(threads);
  resilin::default_generator().manual_seed(1);
  const resilin::nn::GPT model({.block_size = kLength, .n_layer = kLayers, .n_head = kHeads, .n_embd = kWidth, .dtype = dtype});
  const std::vector<Tensor> parameters = resilin::nn::parameters(model);
  resilin::optim::AdamW optimizer(parameters, {.lr = 1e-3});
  const Tensor text = resilin::randint(0, 256, {kBatch, kLength + 1});
  const Tensor inputs = slice(text, 1, 0, kLength);
  const Tensor targets = reshape(slice(text, 1, 1, kLength + 1), {kBatch * kLength});
  const auto step = [&] {
    const Tensor loss = cross_entropy(reshape(model(inputs), {kBatch * kLength, 256}), targets);
    optimizer.zero_grad();
    backward(loss);
    resilin::optim::clip_grad_norm_(parameters, 1.0);
    optimizer.step();
  };
  const bool is_f32 = dtype == DType::F32;
  std::vector<std::string> arguments{is_f32 ? "float32" : "bfloat16", std::to_string(threads)};
  for (const i64 size : {kBatch, kLength, kLayers, kHeads, kWidth}) arguments.push_back(std::to_string(size));
  resilin::bench::PythonPeer peer(RESILIN_BENCH_FOLDER "/gpt_step.py", arguments);
  Comparison c{.name = resilin::cat("training step of a GPT of 0.8 M parameters, 12 x 64 bytes, ", dtype),
               .ours = step,
               .peer_name = peer.greeting().empty() ? "python3-torch (not installed)" : "python3-torch " + peer.greeting()};
  if (!peer.greeting().empty()) c.peer = [&] { peer.call(); };
  c.threads = threads;
  c.wanted = is_f32 ? 1.3 : 0;
  c.note = std::to_string(threads) + " thread(s)";
  c.pairs = 11;
  report.compare(c);
}

}  // namespace

int main(int argc, char** argv) {
  Report report(argc, argv);
  resilin::set_thread_count(1);
  recorded_rows(report);
  for (const DType dtype : {DType::F32, DType::BF16}) {
    for (const int threads : {1, 2}) gpt_row(report, dtype, threads);
  }
  return report.finish();
}
