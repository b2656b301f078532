// tools/pack/main.cpp -- makes the kernel pack of the build: every row-major f32, bf16 and i64 kernel of the ops' samples for each instruction set.
#include <chrono>
#include <cstdio>
#include <exception>

#include "resilin/base/thread_pool.h"
#include "resilin/codegen/pack.h"

#include "tools/pack/sample_kernels.h"

namespace resilin::tool {
namespace {

constexpr DType kDTypes[] = {DType::F32, DType::BF16, DType::I64};
constexpr Isa kIsas[] = {Isa::Avx2, Isa::Avx512};

// Kernels of the pack at `path` that are still what this generator makes are kept: a change elsewhere costs no compiles.
void make_pack(const std::string& path) {
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  const std::vector<SampleKernel> kernels = sample_kernels(sample_graphs(kDTypes));
  const std::unique_ptr<const Pack> before = Pack::open(path);
  std::vector<std::string> images(kernels.size() * std::size(kIsas));
  parallel_for(0, static_cast<i64>(images.size()), 1, [&](i64 begin, i64 end, int) {
    for (std::size_t i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const SampleKernel& kernel = kernels[i / std::size(kIsas)];
      images[i] = compile_for_pack(*kernel.nest, kernel.text, kIsas[i % std::size(kIsas)], before.get());
    }
  });
  write_pack(path, images);
  std::size_t bytes = 0;
  for (const std::string& image : images) bytes += image.size();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("kernel pack: %zu kernels for %zu instruction sets, %.1f MB, %lld compiled in %.1f s\n", kernels.size(), std::size(kIsas),
              static_cast<double>(bytes) * 1e-6, static_cast<long long>(compile_stats().compiled), seconds);
}

}  // namespace
}  // namespace resilin::tool

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: resilin_pack <file>    writes the kernel pack\n", stderr);
    return 2;
  }
  try {
    resilin::tool::make_pack(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "resilin_pack: %s\n", error.what());
    return 1;
  }
}
