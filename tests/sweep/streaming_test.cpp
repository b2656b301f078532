// tests/sweep/streaming_test.cpp -- results so large that stores bypass the caches equal those of their parts, aligned or not.
#include <cstring>
#include <functional>

#include <doctest/doctest.h>

#include "resilin/codegen/lower.h"
#include "resilin/resilin.h"

using namespace resilin;

namespace {

constexpr i64 kRows = 4099;
constexpr i64 kPart = 512;  // rows; far below the threshold

bool same_bytes(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.numel().value() * size_bytes(a.dtype()))) == 0;
}

/// The op on all rows against the op on some of them.
void check_rows(const char* name, i64 columns, const std::function<Tensor(const Tensor&)>& op) {
  CAPTURE(name);
  CAPTURE(columns);
  const Tensor x = rand({kRows, columns});
  const Tensor whole = op(x);
  REQUIRE(whole.numel().value() * 4 >= kStreamingBytes);
  for (i64 row = 0; row < kRows; row += 1500) {
    const i64 end = std::min(row + kPart, kRows);
    const bool same = same_bytes(slice(whole, 0, row, end), op(slice(x, 0, row, end)));
    CHECK_MESSAGE(same, "rows from ", row);
  }
}

}  // namespace

TEST_CASE("large results are those of their rows, whether rows start aligned or not") {
  for (const i64 columns : {1024, 1027, 1040}) {
    check_rows("exp", columns, [](const Tensor& x) { return exp(x); });
    check_rows("softmax", columns, [](const Tensor& x) { return softmax(x); });
    const Tensor scale = rand({columns});
    check_rows("layer_norm", columns, [&](const Tensor& x) { return layer_norm(x, {columns}, scale, scale); });
    check_rows("mul by a row", columns, [&](const Tensor& x) { return mul(x, scale); });
  }
}

TEST_CASE("a large destination may start anywhere") {
  const i64 count = kStreamingBytes / 4;
  const Tensor storage = rand({count + 16});
  for (const i64 start : {0, 1, 8, 13}) {
    const Tensor x = slice(storage, 0, start, start + count);
    const Tensor before = mul(x, Number(1.0));
    add_(x, before);
    const bool same = same_bytes(x, mul(before, Number(2.0)));
    CHECK_MESSAGE(same, "start ", start);
  }
}
