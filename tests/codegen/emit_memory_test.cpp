// tests/codegen/emit_memory_test.cpp -- loads and stores beside pages that cannot be touched.
#include <numeric>

#include <sys/mman.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "tests/codegen/program_kit.h"
#include "tests/codegen/values.h"

namespace resilin {
namespace {

using namespace kit;

constexpr DType kMoved[] = {DType::Bool, DType::U8, DType::I16, DType::BF16, DType::I32, DType::F32, DType::I64, DType::F64};
constexpr std::byte kUntouched{0x5a};

/// A page between two that cannot be touched.
class GuardedPage {
 public:
  GuardedPage() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* const all = mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(all != MAP_FAILED);
    start_ = static_cast<std::byte*>(all) + page_;
    REQUIRE(mprotect(start_, page_, PROT_READ | PROT_WRITE) == 0);
    std::fill(start_, start_ + page_, kUntouched);
  }
  ~GuardedPage() { munmap(start_ - page_, 3 * page_); }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;
  /// The last `bytes` of the page.
  std::byte* tail(std::size_t bytes) { return start_ + page_ - bytes; }
  std::byte* start() { return start_; }

 private:
  std::size_t page_;
  std::byte* start_ = nullptr;
};

std::size_t width_of(DType dtype) { return static_cast<std::size_t>(size_bytes(dtype)); }

/// Element i of a buffer of this dtype: no two neighbours are equal and none is 0, except of Bool.
std::uint64_t pattern(DType dtype, std::size_t i) {
  return dtype == DType::Bool ? (i * 5 / 3) & 1 : memory_bits(dtype, 0x0102030405060708u + i * 0x0101010101010101u);
}

void fill(DType dtype, std::byte* memory, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = pattern(dtype, i);
    std::memcpy(memory + i * width_of(dtype), &bits, width_of(dtype));
  }
}

std::uint64_t read(DType dtype, const std::byte* memory, std::size_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, memory + i * width_of(dtype), width_of(dtype));
  return bits;
}

/// Lanes l < s0 are loaded from p0 and stored whole to p1 and counted to p2.
loop::Program counted_program(DType dtype, int lanes) {
  Phase p;
  const int count = p.add({.operation = Operation::Integer, .immediate = 0});
  const int zero = p.integer(0);
  const int value = p.load(dtype, lanes, p.pointer(0), zero, count);
  p.store(dtype, lanes, p.pointer(1), zero, value);
  p.store(dtype, lanes, p.pointer(2), zero, value, count);
  return p.program();
}

void check_counted(DType dtype, int lanes, Form form) {
  CAPTURE(dtype);
  CAPTURE(lanes);
  Kernel kernel(counted_program(dtype, lanes), 0, form);
  for (const i64 count : {i64{-3}, i64{0}, i64{1}, i64{2}, i64{3}, i64{7}, i64{8}, i64{9}, i64{31}, i64{33}, i64{63}, i64{64}, i64{70},
                          INT64_MAX, INT64_MIN}) {
    const std::size_t live = static_cast<std::size_t>(std::clamp<i64>(count, 0, lanes));
    GuardedPage from, to;
    std::byte* const source = from.tail(live * width_of(dtype));
    std::byte* const target = to.tail(live * width_of(dtype));
    fill(dtype, source, live);
    std::vector<std::byte> whole(static_cast<std::size_t>(lanes) * 8, kUntouched);
    kernel.integers = {count};
    kernel.run({source, whole.data(), target}, 0, 1);
    CAPTURE(count);
    for (std::size_t l = 0; l < static_cast<std::size_t>(lanes); ++l)
      CHECK(read(dtype, whole.data(), l) == (l < live ? pattern(dtype, l) : 0));
    CHECK(std::memcmp(source, target, live * width_of(dtype)) == 0);
    CHECK(*(target - 1) == kUntouched);
    // The same with room behind: what follows the counted lanes stays.
    kernel.run({source, whole.data(), to.start()}, 0, 1);
    CHECK(std::memcmp(source, to.start(), live * width_of(dtype)) == 0);
    CHECK(to.start()[live * width_of(dtype)] == kUntouched);
  }
}

TEST_CASE("counted loads and stores touch their lanes only, at the end and at the start of a page") {
  for (const DType dtype : kMoved) {
    for (const int lanes : {1, 4, 8, 32, 64}) check_counted(dtype, lanes, Form::Avx2);
    check_counted(dtype, 64, Form::Wide);
  }
}

TEST_CASE("strided loads and stores touch their lanes only, forward and backward") {
  for (const DType dtype : kMoved) {
    for (const int lanes : {1, 4, 32}) {
      for (const bool counted : {true, false}) {
        Phase p;
        const int count = p.add({.operation = Operation::Integer, .immediate = 0});
        const int stride = p.add({.operation = Operation::Integer, .immediate = 1});
        const int first = p.add({.operation = Operation::Integer, .immediate = 2});
        const std::uint16_t width = static_cast<std::uint16_t>(lanes);
        const int value = p.add({.operation = Operation::LoadStrided,
                                 .type = dtype,
                                 .lanes = width,
                                 .a = p.pointer(0),
                                 .b = first,
                                 .c = stride,
                                 .d = counted ? count : -1});
        p.store(dtype, lanes, p.pointer(1), p.integer(0), value);
        p.add({.operation = Operation::StoreStrided,
               .type = dtype,
               .lanes = width,
               .a = p.pointer(2),
               .b = first,
               .c = value,
               .d = stride,
               .e = counted ? count : -1});
        Kernel kernel(p.program());
        for (const i64 step : {i64{3}, i64{-2}, i64{0}, i64{1}}) {
          for (const i64 live : counted ? std::vector<i64>{0, 1, 3, lanes} : std::vector<i64>{lanes}) {
            if (live > lanes) continue;
            const std::size_t extent = live == 0 ? 0 : static_cast<std::size_t>((live - 1) * std::abs(step) + 1);
            const i64 begin = step < 0 && live > 0 ? static_cast<i64>(extent) - 1 : 0;
            GuardedPage from, to;
            std::byte* const source = step < 0 ? from.start() : from.tail(extent * width_of(dtype));
            std::byte* const target = step < 0 ? to.start() : to.tail(extent * width_of(dtype));
            fill(dtype, source, extent);
            std::vector<std::byte> whole(static_cast<std::size_t>(lanes) * 8, kUntouched);
            kernel.integers = {live, step, begin};
            kernel.run({source, whole.data(), target}, 0, 1);
            CAPTURE(dtype);
            CAPTURE(lanes);
            CAPTURE(step);
            CAPTURE(live);
            for (i64 l = 0; l < lanes; ++l) {
              const std::size_t place = static_cast<std::size_t>(begin + l * step);
              CHECK(read(dtype, whole.data(), static_cast<std::size_t>(l)) == (l < live ? pattern(dtype, place) : 0));
              if (l < live) CHECK(read(dtype, target, place) == pattern(dtype, place));
            }
            if (std::abs(step) > 1 && live > 1) CHECK(target[width_of(dtype)] == kUntouched);
          }
        }
      }
    }
  }
}

/// Elements are read from p1 (I64), a mask from p2 (Bool): p3 = gather, then scatter of it to p4.
loop::Program gather_program(DType dtype, int lanes, bool masked) {
  Phase p;
  const int zero = p.integer(0);
  const int elements = p.load(DType::I64, lanes, p.pointer(1), zero);
  const int mask = masked ? p.load(DType::Bool, lanes, p.pointer(2), zero) : -1;
  const int value = p.op(Operation::Gather, dtype, lanes, p.pointer(0), elements, mask);
  p.store(dtype, lanes, p.pointer(3), zero, value);
  p.add({.operation = Operation::Scatter,
         .type = dtype,
         .lanes = static_cast<std::uint16_t>(lanes),
         .a = p.pointer(4),
         .b = elements,
         .c = value,
         .d = mask});
  return p.program();
}

TEST_CASE("gather and scatter touch the lanes that are on, wherever they point") {
  for (const DType dtype : kMoved) {
    for (const int lanes : {1, 4, 8, 32, 64}) {
      for (const bool masked : {true, false}) {
        const Kernel kernel(gather_program(dtype, lanes, masked), 0, lanes == 64 ? Form::Wide : Form::Avx2);
        GuardedPage from, to;
        const std::size_t count = 100;
        std::byte* const source = from.tail(count * width_of(dtype));
        std::byte* const target = to.tail(count * width_of(dtype));
        fill(dtype, source, count);
        std::vector<i64> elements(static_cast<std::size_t>(lanes));
        std::vector<std::byte> mask(elements.size(), std::byte{1});
        for (std::size_t l = 0; l < elements.size(); ++l) {
          elements[l] = static_cast<i64>((l * 37 + 11) % count);
          if (!masked || l % 3 != 0) continue;
          mask[l] = std::byte{0};
          elements[l] = l % 2 == 0 ? INT64_MAX / 16 : -5000;  // nobody may look there
        }
        std::vector<std::byte> whole(elements.size() * 8, kUntouched);
        kernel.run({source, elements.data(), mask.data(), whole.data(), target}, 0, 1);
        CAPTURE(dtype);
        CAPTURE(lanes);
        CAPTURE(masked);
        std::vector<bool> written(count);
        for (std::size_t l = 0; l < elements.size(); ++l) {
          const bool on = mask[l] != std::byte{0};
          CHECK(read(dtype, whole.data(), l) == (on ? pattern(dtype, static_cast<std::size_t>(elements[l])) : 0));
          if (on) written[static_cast<std::size_t>(elements[l])] = true;
        }
        for (std::size_t i = 0; i < count; ++i) {
          if (written[i]) {
            CHECK(read(dtype, target, i) == pattern(dtype, i));
          } else {
            CHECK(target[i * width_of(dtype)] == kUntouched);
          }
        }
      }
    }
  }
}

TEST_CASE("of lanes that scatter to one element the last wins") {
  for (const int lanes : {4, 32}) {
    Phase p;
    const int zero = p.integer(0);
    const int loaded = p.load(DType::I32, lanes, p.pointer(0), zero);
    const int place = p.op(Operation::Splat, DType::I64, lanes, p.integer(7));
    p.add({.operation = Operation::Scatter,
           .type = DType::I32,
           .lanes = static_cast<std::uint16_t>(lanes),
           .a = p.pointer(1),
           .b = place,
           .c = loaded});
    std::vector<std::int32_t> source(64);
    std::iota(source.begin(), source.end(), 100);
    std::vector<std::int32_t> target(64, -1);
    Kernel(p.program()).run({source.data(), target.data()}, 0, 1);
    CHECK(target[7] == 100 + lanes - 1);
    CHECK(target[6] == -1);
    CHECK(target[8] == -1);
  }
}

TEST_CASE("stores that bypass the caches write every byte, for all element sizes") {
  for (const DType dtype : kMoved) {
    for (const int lanes : {8, 32, 64}) {
      Phase p;
      const int input = p.pointer(0);
      const int output = p.pointer(1);
      const int loop = p.loop(p.begin(), p.end(), lanes);
      p.store(dtype, lanes, output, loop, p.load(dtype, lanes, input, loop), -1, 1);
      p.end_loop(loop);
      p.add({.operation = Operation::Fence});
      const Kernel kernel(p.program());
      alignas(64) std::byte source[256 * 8];
      alignas(64) std::byte target[256 * 8];
      fill(dtype, source, 256);
      std::fill(std::begin(target), std::end(target), kUntouched);
      kernel.run({source, target}, 0, 256);
      CAPTURE(dtype);
      CHECK(std::memcmp(source, target, 256 * width_of(dtype)) == 0);
    }
  }
}

TEST_CASE("elements to the next multiple of 64 bytes are counted, and a prefetch beyond memory does nothing") {
  Phase p;
  const int pointer = p.pointer(0);
  p.add({.operation = Operation::Prefetch, .type = DType::F32, .a = pointer, .b = p.integer(i64{1} << 40)});
  p.store(DType::I64, 1, p.pointer(1), p.integer(0), p.op(Operation::ToAligned, DType::I64, 1, pointer, p.begin()));
  const Kernel kernel(p.program());
  alignas(64) std::byte memory[256] = {};
  for (const i64 offset : {0, 1, 4, 32, 64}) {
    for (const i64 element : {0, 1, 15, 16, 17}) {
      i64 count = -1;
      kernel.run({memory + offset, reinterpret_cast<std::byte*>(&count)}, element, element + 1);
      const i64 address = offset + element * width_of(DType::I64);
      CHECK(count == (offset % width_of(DType::I64) != 0 ? loop::kNeverAligned : (64 - address % 64) % 64 / width_of(DType::I64)));
    }
  }
}

}  // namespace
}  // namespace resilin
