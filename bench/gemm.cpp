// bench/gemm.cpp -- matrix products against oneDNN with packed weights, one thread.
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>

#include <unistd.h>

#include "resilin/resilin.h"

#include "bench/support/compare.h"

#ifdef RESILIN_BENCH_DNNL
#include <dnnl.hpp>
#endif

namespace {

using resilin::i64;

#ifdef RESILIN_BENCH_DNNL
// A product of n x n matrices whose weights were packed before; empty where oneDNN has none for this processor (bf16 without AVX-512).
std::function<void()> dnnl_call(i64 n, bool bf16) try {
  using dnnl::memory;
  const memory::data_type type = bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  const std::shared_ptr<dnnl::engine> engine = std::make_shared<dnnl::engine>(dnnl::engine::kind::cpu, 0);
  const std::shared_ptr<dnnl::stream> stream = std::make_shared<dnnl::stream>(*engine);
  const memory::desc plain({n, n}, type, memory::format_tag::ab);
  const memory::desc any({n, n}, type, memory::format_tag::any);
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(plain, any, plain), *engine);
  memory a(plain, *engine);
  memory b(plain, *engine);
  memory packed(description.weights_desc(), *engine);
  memory c(plain, *engine);
  const std::size_t bytes = plain.get_size();
  for (memory* m : {&a, &b}) {
    if (bf16) {
      for (std::size_t i = 0; i < bytes / 2; ++i)
        static_cast<std::uint16_t*>(m->get_data_handle())[i] = static_cast<std::uint16_t>(0x3f00 + i % 128);
    } else {
      for (std::size_t i = 0; i < bytes / 4; ++i) static_cast<float*>(m->get_data_handle())[i] = static_cast<float>(i % 17) * 0.1f;
    }
  }
  dnnl::reorder(b, packed).execute(*stream, b, packed);
  stream->wait();
  const dnnl::matmul product(description);
  return [=] {
    product.execute(*stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, c}});
    stream->wait();
  };
} catch (const dnnl::error&) {
  return {};
}
constexpr const char* kPeer = "oneDNN packed";
#else
std::function<void()> dnnl_call(i64, bool) { return {}; }
constexpr const char* kPeer = "oneDNN (not installed)";
#endif

}  // namespace

int main(int argc, char** argv) {
  const char* threads = std::getenv("OMP_NUM_THREADS");
  if (threads == nullptr || std::string(threads) != "1") {  // the peer's runtime reads it while it is loaded
    setenv("OMP_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
  }
  resilin::set_thread_count(1);
  resilin::bench::Report report(argc, argv);
  for (const bool bf16 : {false, true}) {
    double log_sum = 0;
    int count = 0;
    for (const i64 n : {256, 512, 1024, 2048}) {
      const resilin::DType dtype = bf16 ? resilin::DType::BF16 : resilin::DType::F32;
      const resilin::Tensor a = resilin::cast(resilin::rand({n, n}), dtype);
      const resilin::Tensor b = resilin::cast(resilin::rand({n, n}), dtype);
      resilin::bench::Comparison c{.name = "matmul " + std::string(resilin::name(dtype)) + " " + std::to_string(n) + "^3",
                                   .ours = [&] { resilin::matmul(a, b); },
                                   .peer = dnnl_call(n, bf16),
                                   .peer_name = kPeer};
      c.pairs = 11;
      log_sum += std::log(report.compare(c).ratio);
      ++count;
    }
    resilin::bench::Row mean{
        .name = std::string("matmul ") + (bf16 ? "bf16" : "f32") + " geometric mean 256..2048", .peer_name = kPeer, .unit = "-"};
    mean.ratio = mean.ratio_low = mean.ratio_high = std::exp(log_sum / count);
    mean.wanted = 0.5;
    mean.failed = !(mean.ratio >= mean.wanted);
    report.add(mean);
  }
  return report.finish();
}
