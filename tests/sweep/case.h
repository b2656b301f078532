// tests/sweep/case.h -- the cases of the sweep: what to call an op with, derived from its samples.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "resilin/ir/op.h"

#include "tests/support/array.h"

namespace resilin::sweep {

/// What a case is for; decides which checks run on it.
enum class Purpose : std::uint8_t {
  Typical,   // the sample's own sizes, row-major
  Sizes,     // one symbol at a nasty size, or all 0 or 1
  Layout,    // typical sizes, other layouts
  Values,    // typical sizes, special values
  LongRows,  // more reduced elements than a row buffer holds
  Parallel   // enough elements for several threads
};
constexpr std::array<std::string_view, 6> enum_names(const Purpose*) {
  return {"typical", "sizes", "layout", "values", "long_rows", "parallel"};
}

/// What values the inputs hold beside those that their Fill asks for.
enum class Values : std::uint8_t { Random, Ties, NotANumber, Infinite, Tiny, Extreme, BadIndex, ZeroDivisor };
constexpr std::array<std::string_view, 8> enum_names(const Values*) {
  return {"random", "ties", "nan", "inf", "tiny", "extreme", "bad_index", "zero_divisor"};
}

struct Case {
  const ir::OpDef* op = nullptr;
  std::shared_ptr<const std::vector<ir::Sample>> samples = nullptr;
  int sample_index = 0;
  DType dtype = DType::F32;
  bool is_primary = false;  // dtype is the one that gets every check
  Purpose purpose = Purpose::Typical;
  std::vector<i64> sizes = {};                 // of s0, s1, ...
  std::vector<test::LayoutKind> layouts = {};  // per input
  Values values = Values::Random;
  std::uint64_t seed = 0;

  const ir::Sample& sample() const { return (*samples)[static_cast<std::size_t>(sample_index)]; }
};
/// "add #2 f32 sizes [3, 37] layouts [row_major, strided] values random seed 7".
std::string describe(const Case& c);

/// How much of the sweep: all, a few sizes (mutants), or the typical call only (invariant, kernels).
enum class Extent : std::uint8_t { Full, Few, Typical };
std::vector<Case> cases_of(const ir::OpDef& op, Extent extent, std::uint64_t seed);

}  // namespace resilin::sweep
