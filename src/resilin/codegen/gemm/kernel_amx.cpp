// src/resilin/codegen/gemm/kernel_amx.cpp -- bf16 products on AMX tiles: a register block of 32 x 32 is 2 x 2 tiles of 16 x 16 f32 sums.
#include <cstdint>

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "resilin/codegen/gemm/block_kernel.h"

namespace resilin::gemm_kernels {
namespace {

// Tile numbers are fixed: 0 .. 3 sums, 4 and 5 rows of A, 6 and 7 columns of B. All have 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

constexpr i64 kBlock = 32;  // rows and columns of a register block, and k of one tile product

// A constant in memory: the compilers' intrinsic declares that it reads only the first word, so stores to a local one could be dropped.
constexpr TileConfig kConfig;

void enter_tiles() { _tile_loadconfig(&kConfig); }
void leave_tiles() { _tile_release(); }

/// Where the tiles of A lie: packed, a tile is 1 KB of its own; in place, its rows are rows of A.
struct TilesOfA {
  const char* first;
  i64 row_bytes, k_bytes, second_bytes;
};

/// C[32, 32] (+)= A[32, k] * B[k, 32], k a multiple of 32.
void multiply_tiles(i64 k, const TilesOfA& a, const char* b, float* c, i64 ldc, bool accumulate) {
  const i64 c_bytes = ldc * 4;
  if (accumulate) {
    _tile_loadd(0, c, c_bytes);
    _tile_loadd(1, c + 16, c_bytes);
    _tile_loadd(2, c + 16 * ldc, c_bytes);
    _tile_loadd(3, c + 16 * ldc + 16, c_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const char* rows = a.first;
  for (i64 p = 0; p < k; p += kBlock) {
    _tile_loadd(6, b, 128);
    _tile_loadd(4, rows, a.row_bytes);
    _tile_loadd(7, b + 64, 128);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(5, rows + a.second_bytes, a.row_bytes);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    rows += a.k_bytes;
    b += 16 * 128;
  }
  _tile_stored(0, c, c_bytes);
  _tile_stored(1, c + 16, c_bytes);
  _tile_stored(2, c + 16 * ldc, c_bytes);
  _tile_stored(3, c + 16 * ldc + 16, c_bytes);
}

void multiply_block(const BlockCall& call) {
  const i64 k = (call.k + kBlock - 1) / kBlock * kBlock;
  const bool in_place = call.a_row_bytes != 0;
  const i64 a_panel_bytes = in_place ? kBlock * call.a_row_bytes : kBlock * k * 2;
  for (i64 j = 0; j < call.n; j += kBlock) {
    const char* const b = static_cast<const char*>(call.b) + j * k * 2;
    TilesOfA a{.first = static_cast<const char*>(call.a),
               .row_bytes = in_place ? call.a_row_bytes : 64,
               .k_bytes = in_place ? 64 : 2048,
               .second_bytes = in_place ? 16 * call.a_row_bytes : 1024};
    for (i64 i = 0; i < call.m; i += kBlock) {
      multiply_tiles(k, a, b, static_cast<float*>(call.c) + i * call.ldc + j, call.ldc, call.accumulate);
      a.first += a_panel_bytes;
    }
  }
}

/// Whole tiles whose rows are contiguous need no packing.
bool whole_tiles(const PackSource& a) {
  return a.k_stride == 1 && !a.negate && a.lanes % kBlock == 0 && a.k % kBlock == 0 && a.lane_stride > 0;
}

bool ask_permission() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool amx_permitted() {
  static const bool permitted = ask_permission();
  return permitted;
}

// The sums of a cache block take 512 KB, its A 256 KB and its B 512 KB of a second level of 2 MB; a panel of A and one of B 32 KB each of
// 48.
const BlockKernel kAmxBf16 = {.name = "amx bf16",
                              .mr = 32,
                              .nr = 32,
                              .k_step = 32,
                              .mc = 256,
                              .kc = 512,
                              .nc = 512,
                              .packed_bytes = 2,
                              .sum_bytes = 4,
                              .pads_c = true,
                              .pack_a = pack_amx_a,
                              .pack_b = pack_amx_b,
                              .reads_in_place = whole_tiles,
                              .block = multiply_block,
                              .enter = enter_tiles,
                              .leave = leave_tiles};

}  // namespace resilin::gemm_kernels
