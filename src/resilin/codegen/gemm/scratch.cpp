// src/resilin/codegen/gemm/scratch.cpp -- one growing buffer per thread and purpose.
#include "resilin/codegen/gemm/scratch.h"

#include <cstdlib>
#include <memory>

#include "resilin/base/error.h"

namespace resilin::gemm_kernels {
namespace {

constexpr i64 kPage = 4096;

struct Free {
  void operator()(void* block) const { std::free(block); }
};

struct Buffer {
  std::unique_ptr<void, Free> block;
  i64 size_bytes = 0;
};

thread_local Buffer buffers[kScratchCount];

}  // namespace

void* scratch(Scratch which, i64 size_bytes) {
  Buffer& buffer = buffers[static_cast<int>(which)];
  if (buffer.size_bytes >= size_bytes) return buffer.block.get();
  const i64 rounded = (size_bytes + kPage - 1) / kPage * kPage;
  buffer.size_bytes = 0;
  buffer.block.reset();  // first, so that the old and the new one never exist together
  buffer.block.reset(std::aligned_alloc(static_cast<std::size_t>(kPage), static_cast<std::size_t>(rounded)));
  if (buffer.block == nullptr) throw MemoryError(cat("gemm: no memory for a packing buffer: ", rounded, " bytes asked"));
  buffer.size_bytes = rounded;
  return buffer.block.get();
}

}  // namespace resilin::gemm_kernels
