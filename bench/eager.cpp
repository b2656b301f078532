// bench/eager.cpp -- eager ops against libtorch: overhead of a small add, row kernels, a pointwise kernel, large fresh results.
#include "resilin/resilin.h"

#include "bench/support/compare.h"
#include "bench/support/torch_peer.h"

namespace {

using resilin::Tensor;
using resilin::bench::Comparison;
using resilin::bench::Report;

void add_rows(Report& report, const std::string& peer, int threads) {
  resilin::set_thread_count(threads);
  const auto ours = [&](const std::string& name, std::function<void()> call, const std::string& op, resilin::i64 rows, resilin::i64 columns,
                        double wanted) {
    Comparison c{.name = name, .ours = std::move(call), .peer = resilin::bench::torch_call(op, rows, columns, threads), .peer_name = peer};
    c.threads = threads;
    c.wanted = threads == 1 ? wanted : 0;
    c.note = std::to_string(threads) + " thread(s)";
    report.compare(c);
  };
  const Tensor small = resilin::rand({16});
  ours(
      "add f32[16]", [&] { resilin::add(small, small); }, "add", 0, 16, 5.0);
  const Tensor x = resilin::rand({4096, 1024});
  const Tensor weight = resilin::rand({1024});
  const Tensor bias = resilin::rand({1024});
  ours(
      "softmax f32[4096, 1024]", [&] { resilin::softmax(x); }, "softmax", 4096, 1024, 2.2);
  ours(
      "layer_norm f32[4096, 1024]", [&] { resilin::layer_norm(x, {1024}, weight, bias); }, "layer_norm", 4096, 1024, 1.8);
  ours(
      "gelu tanh f32[4096, 1024]", [&] { resilin::gelu(x, {.approximate = resilin::GeluApproximation::Tanh}); }, "gelu_tanh", 4096, 1024,
      6.0);
  const Tensor large = resilin::rand({4096, 4096});
  ours(
      "add f32[4096, 4096] (64 MiB), fresh result", [&] { resilin::add(large, large); }, "add", 4096, 4096, 2.0);
}

}  // namespace

int main(int argc, char** argv) {
  Report report(argc, argv);
  const std::string peer = resilin::bench::torch_name();
  add_rows(report, peer, 1);
  add_rows(report, peer, 2);
  return report.finish();
}
