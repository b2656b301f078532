// src/resilin/codegen/gemm/blocked.cpp -- the loops around a register block: cache blocks of packed A and B, and partial sums of C.
//
// B is packed once for a range of columns and of k and shared by all threads; a task owns a block of C, packs the rows of A it needs and
// goes over k in
// order. Partial sums rest between blocks of k in C itself, or, where C has another type or no contiguous rows, in a buffer of the
// accumulator's type;
// either way a sum goes on where it stopped, so blocking never changes a bit. After Goto & van de Geijn, "Anatomy of high-performance
// matrix
// multiplication", TOMS 34 (2008).
#include "resilin/codegen/gemm/blocked.h"

#include <algorithm>

#include "resilin/base/thread_pool.h"
#include "resilin/codegen/cpu.h"
#include "resilin/codegen/gemm/parallel.h"
#include "resilin/codegen/gemm/scratch.h"

namespace resilin::gemm_kernels {
namespace {

constexpr i64 kPackedBBytes = 8 << 20;     // at most, and at most a quarter of the last cache
constexpr i64 kSharedSumBytes = 16 << 20;  // at most, for products with a very long k
constexpr i64 kBufferedColumns = 512;      // of a block whose sums are buffered: the buffer stays in the second cache

/// A block of C and the range of k that is added to it.
struct Region {
  i64 row, rows, col, cols, k, depth;
};

/// The tile registers of a thread, set up for a run of blocks.
class Entered {
 public:
  explicit Entered(const BlockKernel& kernel) : leave_(kernel.leave) {
    if (kernel.enter != nullptr) kernel.enter();
  }
  ~Entered() {
    if (leave_ != nullptr) leave_();
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  void (*leave_)();
};

class Product {
 public:
  Product(const BlockKernel& kernel, const GemmArguments& g, bool parallel)
      : kernel_(kernel), g_(g), threads_(parallel ? thread_count() : 1), item_(size_bytes(g.dtype)) {
    const bool same_type = item_ == kernel.sum_bytes;
    buffered_ = !same_type || g.c_col_stride != 1 || kernel.pads_c;
    const i64 widest = buffered_ ? std::min(kernel.nc, kBufferedColumns) : kernel.nc;
    nc_ = std::min(widest, round_up(g.n, kernel.nr));
    const i64 limit = std::clamp(cpu_features().l3_bytes / 4, i64{1} << 20, kPackedBBytes);
    const i64 depth = limit / (nc_ * kernel.packed_bytes) / kernel.kc * kernel.kc;
    depth_ = std::min(std::max(depth, kernel.kc), g.k);
    shared_sums_ = buffered_ && depth_ < g.k;
    choose_rows();
  }

  void run() {
    const i64 row_bytes = nc_ * kernel_.sum_bytes;
    const i64 chunk = shared_sums_ ? std::max(mc_, kSharedSumBytes / row_bytes / mc_ * mc_) : g_.m;
    for (i64 col = 0; col < g_.n; col += nc_) {
      for (i64 row = 0; row < g_.m; row += chunk) {
        const i64 rows = std::min(chunk, g_.m - row);
        if (shared_sums_) sums_ = static_cast<char*>(scratch(Scratch::Sums, round_up(rows, mc_) * row_bytes));
        for (i64 k = 0; k < g_.k; k += depth_) {
          multiply({row, rows, col, std::min(nc_, g_.n - col), k, std::min(depth_, g_.k - k)});
        }
      }
    }
  }

 private:
  /// Even blocks of rows, a multiple of the threads where that leaves each enough rows.
  void choose_rows() {
    const i64 blocks = round_up(ceil_div(g_.m, kernel_.mc), threads_);
    const i64 even = round_up(ceil_div(g_.m, blocks), kernel_.mr);
    mc_ = std::min(std::max(even, 4 * kernel_.mr), round_up(g_.m, kernel_.mr));
  }

  i64 padded_depth(i64 depth) const { return round_up(depth, kernel_.k_step); }

  const char* a_at(i64 row, i64 k) const { return static_cast<const char*>(g_.a) + (row * g_.a_row_stride + k * g_.a_col_stride) * item_; }
  const char* b_at(i64 k, i64 col) const { return static_cast<const char*>(g_.b) + (k * g_.b_row_stride + col * g_.b_col_stride) * item_; }
  char* c_at(i64 row, i64 col) const { return static_cast<char*>(g_.c) + (row * g_.c_row_stride + col * g_.c_col_stride) * item_; }

  /// Packs B of the region ([block of k][panel]) and hands its blocks of C to the threads.
  void multiply(const Region& region) {
    const i64 panels = ceil_div(region.cols, kernel_.nr);
    const i64 padded = padded_depth(region.depth);
    char* const packed = static_cast<char*>(scratch(Scratch::PackedB, panels * kernel_.nr * padded * kernel_.packed_bytes));
    const i64 steps = ceil_div(region.depth, kernel_.kc);
    for_range(threads_ > 1, steps * panels, 4, [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i) pack_panel(region, i / panels, i % panels, packed);
    });
    const i64 row_blocks = ceil_div(region.rows, mc_);
    const i64 groups = std::min(panels, row_blocks >= threads_ ? 1 : ceil_div(threads_, row_blocks));
    const i64 width = ceil_div(panels, groups) * kernel_.nr;
    const i64 column_blocks = ceil_div(region.cols, width);
    for_range(threads_ > 1, row_blocks * column_blocks, 1, [&](i64 begin, i64 end) {
      const Entered entered(kernel_);
      for (i64 i = begin; i < end; ++i) {
        const i64 row = i / column_blocks * mc_;
        const i64 col = i % column_blocks * width;
        multiply_block(region, {row, std::min(mc_, region.rows - row), col, std::min(width, region.cols - col), region.k, region.depth},
                       packed);
      }
    });
  }

  i64 packed_offset(i64 step, i64 col, i64 all_cols, i64 step_depth) const {
    return (step * kernel_.kc * round_up(all_cols, kernel_.nr) + col * padded_depth(step_depth)) * kernel_.packed_bytes;
  }

  void pack_panel(const Region& region, i64 step, i64 panel, char* packed) const {
    const i64 k = step * kernel_.kc;
    const i64 depth = std::min(kernel_.kc, region.depth - k);
    const i64 col = panel * kernel_.nr;
    const PackSource source{
        g_.dtype, b_at(region.k + k, region.col + col), g_.b_col_stride, g_.b_row_stride, std::min(kernel_.nr, region.cols - col), depth,
        false};
    kernel_.pack_b(source, packed + packed_offset(step, col, region.cols, depth));
  }

  /// One block of C (`block`, relative to the region) over the whole depth of the region.
  void multiply_block(const Region& region, const Region& block, const char* packed_b) const {
    const bool first = region.k == 0;
    const bool last = region.k + region.depth == g_.k;
    const i64 row = region.row + block.row;
    SumBlock sums{g_.dtype, c_at(row, region.col + block.col), g_.c_row_stride, g_.c_col_stride, nullptr, 0, block.rows, block.cols};
    place_sums(block, sums);
    const bool from_c = g_.update != GemmUpdate::Assign;
    if (buffered_ && first && from_c) load_sums(sums);
    for (i64 k = 0; k < region.depth; k += kernel_.kc) {
      const i64 depth = std::min(kernel_.kc, region.depth - k);
      BlockCall call{block.rows, block.cols, depth, nullptr, 0, nullptr, sums.sums, sums.ldc, !first || k > 0 || from_c};
      call.b = packed_b + packed_offset(k / kernel_.kc, block.col, region.cols, depth);
      take_a({g_.dtype, a_at(row, region.k + k), g_.a_row_stride, g_.a_col_stride, block.rows, depth, g_.update == GemmUpdate::Subtract},
             call);
      kernel_.block(call);
    }
    if (buffered_ && last) store_sums(sums);
  }

  /// Where the partial sums of a block rest: in C, in the buffer of the whole region, or in one of the thread.
  void place_sums(const Region& block, SumBlock& sums) const {
    if (!buffered_) {
      sums.sums = sums.c;
      sums.ldc = g_.c_row_stride;
      return;
    }
    sums.ldc = shared_sums_ ? nc_ : round_up(block.cols, kernel_.nr);
    if (shared_sums_) {
      sums.sums = sums_ + (block.row * sums.ldc + block.col) * kernel_.sum_bytes;
    } else {
      sums.sums = scratch(Scratch::Sums, round_up(block.rows, kernel_.mr) * sums.ldc * kernel_.sum_bytes);
    }
  }

  void take_a(const PackSource& source, BlockCall& call) const {
    if (kernel_.reads_in_place != nullptr && kernel_.reads_in_place(source)) {
      call.a = source.data;
      call.a_row_bytes = source.lane_stride * item_;
      return;
    }
    void* const panels = scratch(Scratch::PackedA, round_up(source.lanes, kernel_.mr) * padded_depth(source.k) * kernel_.packed_bytes);
    kernel_.pack_a(source, panels);
    call.a = panels;
  }

  const BlockKernel& kernel_;
  const GemmArguments& g_;
  i64 threads_;
  i64 item_;          // bytes of an element of A, B and C
  bool buffered_;     // sums do not rest in C
  bool shared_sums_;  // and outlive a task
  i64 mc_ = 0, nc_ = 0;
  i64 depth_ = 0;  // of k that is packed at once
  char* sums_ = nullptr;
};

}  // namespace

void multiply_blocked(const BlockKernel& kernel, const GemmArguments& g) {
  for_each_matrix(g, [&](const GemmArguments& one, bool parallel) { Product(kernel, one, parallel).run(); });
}

}  // namespace resilin::gemm_kernels
