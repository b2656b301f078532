// tests/dist/collective/combine_test.cpp -- the arithmetic of reductions against one element at a time, on every instruction set.
#include "resilin/dist/collective/combine.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/dist/collective/combine_kernel.h"

#include "tests/dist/simulation/world.h"

namespace resilin::dist {
namespace {

using simulation::Chance;
using Bytes = std::vector<std::byte>;

constexpr std::array kNumbers = {DType::U8,   DType::I8,  DType::I16, DType::I32,      DType::I64,   DType::F16,
                                 DType::BF16, DType::F32, DType::F64, DType::F8E4M3FN, DType::F8E5M2};
constexpr std::array kOps = {ReduceOp::Sum, ReduceOp::Product, ReduceOp::Min, ReduceOp::Max, ReduceOp::Band, ReduceOp::Bor, ReduceOp::Bxor};

/// Random bits, of floats every eighth a special one: zeros, infinities, NaN, the smallest numbers.
template <class T>
T draw(Chance& chance) {
  const std::uint64_t bits = chance.next();
  T item{};
  std::memcpy(static_cast<void*>(&item), &bits, sizeof item);
  if constexpr (is_floating(kDTypeOf<T>)) {
    constexpr double kSpecial[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, NAN, 1.0, -1.0, 1e-7};
    if (chance.one_in(4)) return static_cast<T>(static_cast<float>(kSpecial[chance.below(8)]));
    if (chance.one_in(2)) return static_cast<T>(static_cast<float>(static_cast<double>(chance.between(0, 4000)) / 16 - 125));
  }
  return item;
}

Bytes draw_bytes(DType dtype, i64 count, Chance& chance) {
  Bytes bytes(static_cast<std::size_t>(count * size_bytes(dtype)));
  visit_dtype(dtype, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, bool>) {
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
        const T item = draw<T>(chance);
        std::memcpy(&bytes[at], &item, sizeof item);
      }
    }
  });
  return bytes;
}

template <class C>
C extreme(C a, C b, bool is_min) {
  if constexpr (std::is_floating_point_v<C>) {
    if (a != a || b != b) return std::numeric_limits<C>::quiet_NaN();
    if (a == b) return std::signbit(a) == is_min ? a : b;
  }
  return (a < b) == is_min ? a : b;
}

template <class C>
C apply(ReduceOp op, C a, C b) {
  if (op == ReduceOp::Min || op == ReduceOp::Max) return extreme(a, b, op == ReduceOp::Min);
  if constexpr (std::is_floating_point_v<C>) {
    return op == ReduceOp::Sum ? a + b : a * b;
  } else {
    const std::uint64_t x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    switch (op) {
      case ReduceOp::Sum: return static_cast<C>(x + y);
      case ReduceOp::Product: return static_cast<C>(x * y);
      case ReduceOp::Band: return static_cast<C>(x & y);
      case ReduceOp::Bor: return static_cast<C>(x | y);
      default: return static_cast<C>(x ^ y);
    }
  }
}

/// One element after the other.
template <class T>
Bytes reference(ReduceOp op, const std::vector<Bytes>& from) {
  using C = std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, double>, T, float>;
  Bytes into(from[0].size());
  for (std::size_t at = 0; at < into.size(); at += sizeof(T)) {
    C sum{};
    for (std::size_t s = 0; s < from.size(); ++s) {
      T item{};
      std::memcpy(static_cast<void*>(&item), &from[s][at], sizeof item);
      sum = s == 0 ? static_cast<C>(item) : apply(op, sum, static_cast<C>(item));
    }
    if (sum != sum) sum = std::numeric_limits<C>::quiet_NaN();
    const T rounded = static_cast<T>(sum);
    std::memcpy(&into[at], &rounded, sizeof rounded);
  }
  return into;
}

Bytes reference(ReduceOp op, DType dtype, const std::vector<Bytes>& from) {
  return visit_dtype(dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, bool>)
      return reference<std::uint8_t>(op, from);
    else
      return reference<T>(op, from);
  });
}

std::vector<const std::byte*> pointers(const std::vector<Bytes>& from) {
  std::vector<const std::byte*> result;
  for (const Bytes& bytes : from) result.push_back(bytes.data());
  return result;
}

template <class T>
Bytes bytes_of(const std::vector<T>& items) {
  Bytes bytes(items.size() * sizeof(T));
  if (!items.empty()) std::memcpy(bytes.data(), items.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> combined(ReduceOp op, const std::vector<std::vector<T>>& items, i64 average_over = 0) {
  std::vector<Bytes> from;
  for (const std::vector<T>& one : items) from.push_back(bytes_of(one));
  std::vector<T> into(items[0].size());
  combine(op, kDTypeOf<T>, reinterpret_cast<std::byte*>(into.data()), pointers(from), static_cast<i64>(into.size()), average_over);
  return into;
}

std::string refusal(ReduceOp op, DType dtype) {
  std::byte untouched{7};
  const std::byte* const from[] = {&untouched, &untouched};
  try {
    combine(op, dtype, &untouched, from, 1, 0);
  } catch (const UnsupportedError& error) {
    CHECK_THROWS_AS(check_combine(op, dtype), UnsupportedError);
    return error.what();
  }
  return "";
}

/// The T nearest to value, ties to even, judged by its neighbours; T is a 16-bit float.
template <class T>
bool is_nearest(T rounded, long double value) {
  const auto distance = [&](std::uint16_t bits) {
    T item;
    item.bits = bits;
    return std::fabs(static_cast<long double>(static_cast<float>(item)) - value);
  };
  const long double here = distance(rounded.bits);
  for (const int step : {-1, 1}) {
    if ((rounded.bits & 0x7fffu) == 0 && step < 0) continue;
    const long double there = distance(static_cast<std::uint16_t>(rounded.bits + step));
    if (there < here || (there == here && (rounded.bits & 1u) != 0)) return false;
  }
  return true;
}

template <class T>
void check_averages(std::uint64_t seed) {
  Chance chance(seed);
  for (const i64 ranks : {2, 3, 5, 7, 12, 16, 1000}) {
    std::vector<T> x, y;
    for (int i = 0; i < 2000; ++i) {
      x.push_back(static_cast<T>(static_cast<float>(chance.below(1 << 20)) / 1024.0f));
      y.push_back(static_cast<T>(static_cast<float>(chance.below(1 << 20)) / 65536.0f));
    }
    const std::vector<T> average = combined<T>(ReduceOp::Avg, {x, y}, ranks);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float sum = static_cast<float>(x[i]) + static_cast<float>(y[i]);
      CHECK(is_nearest(average[i], static_cast<long double>(sum) / static_cast<long double>(ranks)));
    }
  }
}

}  // namespace

TEST_CASE("every instruction set combines every dtype and op to the reference's bits, at any length and alignment") {
  int isas = 0;
  for (const CombineIsa& isa : kCombineIsa) {
    if (!isa.runs_here()) {
      MESSAGE(isa.name << " is skipped: this processor lacks it");
      continue;
    }
    ++isas;
    Chance chance(7);
    for (const DType dtype : kNumbers) {
      for (const ReduceOp op : kOps) {
        const CombineKernel kernel = isa.find(op, dtype);
        const bool is_bitwise = op == ReduceOp::Band || op == ReduceOp::Bor || op == ReduceOp::Bxor;
        REQUIRE((kernel != nullptr) == (!is_bitwise || is_integral(dtype)));
        if (kernel == nullptr) continue;
        for (const i64 count : {1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 64, 65, 127, 129, 255, 300, 1027}) {
          const int sources = static_cast<int>(chance.between(2, 5));
          std::vector<Bytes> from;
          for (int s = 0; s < sources; ++s) from.push_back(draw_bytes(dtype, count, chance));
          const Bytes expected = reference(op, dtype, from);
          const std::size_t shift = chance.below(9);
          std::vector<Bytes> shifted(from.size(), Bytes(expected.size() + shift));
          std::vector<const std::byte*> at;
          for (std::size_t s = 0; s < from.size(); ++s) {
            std::memcpy(shifted[s].data() + shift, from[s].data(), from[s].size());
            at.push_back(shifted[s].data() + shift);
          }
          Bytes into(expected.size() + 64, std::byte{0x5a});
          kernel({.into = into.data() + 31, .from = at.data(), .sources = sources, .count = count, .divisor = 1});
          const Bytes got(into.begin() + 31, into.begin() + 31 + static_cast<std::ptrdiff_t>(expected.size()));
          INFO(isa.name << " " << name(dtype) << " op " << static_cast<int>(op) << " count " << count);
          CHECK(got == expected);
          into.erase(into.begin() + 31, into.begin() + 31 + static_cast<std::ptrdiff_t>(expected.size()));
          CHECK(into == Bytes(64, std::byte{0x5a}));
        }
      }
    }
  }
  CHECK(isas >= 2);
}

TEST_CASE("every instruction set divides averages of floats to the same bits") {
  Chance chance(11);
  for (const DType dtype : kNumbers) {
    if (!is_floating(dtype)) continue;
    for (const i64 divisor : {2, 3, 7, 16, 1000}) {
      const std::vector<Bytes> from = {draw_bytes(dtype, 777, chance), draw_bytes(dtype, 777, chance)};
      const std::vector<const std::byte*> at = pointers(from);
      Bytes expected;
      for (int i = kCombineIsas - 1; i >= 0; --i) {
        if (!kCombineIsa[i].runs_here()) continue;
        Bytes into(from[0].size());
        kCombineIsa[i].find(ReduceOp::Sum, dtype)({into.data(), at.data(), 2, 777, divisor});
        if (expected.empty()) expected = into;
        CHECK(into == expected);
      }
    }
  }
}

TEST_CASE("all bit patterns of small floats are widened, rounded and NaN as tensor/dtype says") {
  for (const DType dtype : {DType::F16, DType::BF16, DType::F8E4M3FN, DType::F8E5M2}) {
    const i64 patterns = i64{1} << (8 * size_bytes(dtype));
    std::vector<Bytes> from(2, Bytes(static_cast<std::size_t>(patterns * size_bytes(dtype))));
    for (const std::uint64_t multiplier : {1u, 3u, 40503u}) {
      for (i64 i = 0; i < patterns; ++i) {
        const std::uint64_t first = static_cast<std::uint64_t>(i), second = first * multiplier + multiplier / 2;
        const std::size_t at = static_cast<std::size_t>(i * size_bytes(dtype));
        std::memcpy(&from[0][at], &first, static_cast<std::size_t>(size_bytes(dtype)));
        std::memcpy(&from[1][at], &second, static_cast<std::size_t>(size_bytes(dtype)));
      }
      for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Product, ReduceOp::Min, ReduceOp::Max}) {
        const Bytes expected = reference(op, dtype, from);
        for (const CombineIsa& isa : kCombineIsa) {
          if (!isa.runs_here()) continue;
          Bytes into(expected.size());
          const std::vector<const std::byte*> at = pointers(from);
          isa.find(op, dtype)({into.data(), at.data(), 2, patterns, 1});
          INFO(isa.name << " " << name(dtype) << " op " << static_cast<int>(op));
          CHECK(into == expected);
        }
      }
    }
  }
}

TEST_CASE("small floats are rounded once, after all sources") {
  const BF16 one(1.0f), half_step(1.0f / 256);
  CHECK(combined<BF16>(ReduceOp::Sum, {{one}, {half_step}, {half_step}})[0].bits == BF16(1.0f + 1.0f / 128).bits);
  const F8E5M2 big(4.0f), small(0.25f);
  CHECK(combined<F8E5M2>(ReduceOp::Sum, {{big}, {small}, {small}, {small}})[0].bits == F8E5M2(5.0f).bits);
  CHECK(combined<F16>(ReduceOp::Avg, {{F16(60000.0f)}, {F16(40000.0f)}}, 2)[0].bits == F16(50000.0f).bits);
}

TEST_CASE("averages of small floats are the exact quotient rounded once") {
  check_averages<BF16>(3);
  check_averages<F16>(4);
}

TEST_CASE("averages: floats are divided exactly, integers toward zero, partial results not at all") {
  CHECK(combined<float>(ReduceOp::Avg, {{1, 2}, {0, 5}}, 3) == std::vector<float>{1.0f / 3, 7.0f / 3});
  CHECK(combined<double>(ReduceOp::Avg, {{1}, {0}}, 3) == std::vector<double>{1.0 / 3});
  CHECK(combined<i64>(ReduceOp::Avg, {{-7, 7, 4}, {0, 0, -9}}, 2) == std::vector<i64>{-3, 3, -2});
  CHECK(combined<std::uint8_t>(ReduceOp::Avg, {{200}, {50}}, 2) == std::vector<std::uint8_t>{125});
  CHECK(combined<std::int8_t>(ReduceOp::Avg, {{-7}}, 200) == std::vector<std::int8_t>{0});
  CHECK(combined<float>(ReduceOp::Avg, {{1}, {5}}, 0) == std::vector<float>{6});
  CHECK(combined<float>(ReduceOp::Sum, {{1}, {5}}, 3) == std::vector<float>{6});
}

TEST_CASE("min and max put -0 below +0 and give NaN for NaN, wherever it stands") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::signbit(combined<float>(ReduceOp::Min, {{0.0f}, {-0.0f}})[0]));
  CHECK(std::signbit(combined<float>(ReduceOp::Min, {{-0.0f}, {0.0f}})[0]));
  CHECK(!std::signbit(combined<float>(ReduceOp::Max, {{0.0f}, {-0.0f}})[0]));
  CHECK(!std::signbit(combined<float>(ReduceOp::Max, {{-0.0f}, {0.0f}})[0]));
  for (const ReduceOp op : {ReduceOp::Min, ReduceOp::Max}) {
    CHECK(std::isnan(combined<float>(op, {{nan}, {1}, {2}})[0]));
    CHECK(std::isnan(combined<float>(op, {{1}, {nan}, {2}})[0]));
    CHECK(std::isnan(combined<float>(op, {{1}, {2}, {nan}})[0]));
  }
}

TEST_CASE("bools: sum is or, product is and") {
  const std::vector<Bytes> from = {bytes_of<std::uint8_t>({0, 0, 1, 1}), bytes_of<std::uint8_t>({0, 1, 0, 1})};
  const auto result = [&](ReduceOp op) {
    Bytes into(4);
    combine(op, DType::Bool, into.data(), pointers(from), 4, 0);
    return into;
  };
  for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Max, ReduceOp::Bor}) CHECK(result(op) == bytes_of<std::uint8_t>({0, 1, 1, 1}));
  for (const ReduceOp op : {ReduceOp::Product, ReduceOp::Min, ReduceOp::Band}) CHECK(result(op) == bytes_of<std::uint8_t>({0, 0, 0, 1}));
  CHECK(result(ReduceOp::Bxor) == bytes_of<std::uint8_t>({0, 1, 1, 0}));
}

TEST_CASE("complex numbers are added part by part") {
  const std::vector<Bytes> from = {bytes_of<float>({1, 2, 3, 4}), bytes_of<float>({5, 6, 7, 8})};
  Bytes into(16);
  combine(ReduceOp::Sum, DType::C64, into.data(), pointers(from), 2, 0);
  CHECK(into == bytes_of<float>({6, 8, 10, 12}));
  combine(ReduceOp::Avg, DType::C64, into.data(), pointers(from), 2, 2);
  CHECK(into == bytes_of<float>({3, 4, 5, 6}));
}

TEST_CASE("the result may replace any of the sources, and one source is copied bit for bit") {
  for (std::size_t place = 0; place < 3; ++place) {
    std::vector<std::vector<i64>> items(3, std::vector<i64>(100));
    for (std::size_t s = 0; s < 3; ++s) {
      for (std::size_t i = 0; i < 100; ++i) items[s][i] = static_cast<i64>(s * 1000 + i);
    }
    std::vector<const std::byte*> from;
    for (const std::vector<i64>& item : items) from.push_back(reinterpret_cast<const std::byte*>(item.data()));
    combine(ReduceOp::Sum, DType::I64, reinterpret_cast<std::byte*>(items[place].data()), from, 100, 0);
    for (std::size_t i = 0; i < 100; ++i) CHECK(items[place][i] == static_cast<i64>(3000 + 3 * i));
  }
  const Bytes payload = bytes_of<std::uint16_t>({0xffc1, 0x7f81, 0x8000});
  Bytes into(6);
  combine(ReduceOp::Sum, DType::BF16, into.data(), pointers({payload}), 3, 0);
  CHECK(into == payload);
  combine(ReduceOp::Avg, DType::BF16, into.data(), pointers({payload}), 3, 1);
  CHECK(into == payload);
  combine(ReduceOp::Sum, DType::F32, nullptr, std::vector<const std::byte*>{nullptr, nullptr}, 0, 0);
}

TEST_CASE("an op that a dtype does not have is refused before anything is written") {
  CHECK(refusal(ReduceOp::PremulSum, DType::F32) == "reduction: premul_sum of f32 is not supported; multiply first, then use sum");
  CHECK(refusal(ReduceOp::None, DType::F32) == "reduction: none of f32 is not supported; a reduction needs an op");
  CHECK(refusal(ReduceOp::Band, DType::F32) == "reduction: band of f32 is not supported; the dtype must be an integer or bool");
  CHECK(refusal(ReduceOp::Bxor, DType::C64) == "reduction: bxor of c64 is not supported; the dtype must be an integer or bool");
  CHECK(refusal(ReduceOp::Avg, DType::Bool) ==
        "reduction: avg of bool is not supported; the dtype must be a number; max or min tell whether any or all are true");
  CHECK(refusal(ReduceOp::Max, DType::C128) == "reduction: max of c128 is not supported; complex numbers have sum and avg");
  for (const DType dtype : kNumbers) {
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Product, ReduceOp::Min, ReduceOp::Max, ReduceOp::Avg}) {
      CHECK_NOTHROW(check_combine(op, dtype));
    }
  }
}

}  // namespace resilin::dist
