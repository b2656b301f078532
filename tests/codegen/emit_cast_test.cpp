// tests/codegen/emit_cast_test.cpp -- casts between all dtypes against evaluate_primitive.
#include <doctest/doctest.h>

#include "tests/codegen/program_kit.h"
#include "tests/codegen/values.h"

// Of the leak checker, where there is one.
extern "C" __attribute__((weak)) void __lsan_disable();
extern "C" __attribute__((weak)) void __lsan_enable();

namespace resilin {
namespace {

using namespace kit;

constexpr DType kAll[] = {DType::Bool, DType::U8,   DType::I8,  DType::I16, DType::I32,      DType::I64,
                          DType::F16,  DType::BF16, DType::F32, DType::F64, DType::F8E4M3FN, DType::F8E5M2};

/// One kernel: one input, one output for each dtype.
loop::Program program_from(DType from, int lanes) {
  Phase p;
  const int input = p.pointer(0);
  const int loop = p.loop(p.begin(), p.end(), lanes);
  const int value = p.load(from, lanes, input, loop);
  int slot = 1;
  for (const DType to : kAll) p.store(to, lanes, p.pointer(slot++), loop, p.op(Operation::Cast, to, lanes, value));
  p.end_loop(loop);
  return p.program();
}

std::vector<std::uint64_t> values_of(DType from) {
  std::vector<std::uint64_t> values = edge_values(from);
  const i64 bytes = size_bytes(from);
  if (from != DType::Bool && bytes <= 2) {
    values.clear();
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << (8 * bytes); ++bits) values.push_back(bits);
  }
  std::mt19937_64 random(3);
  if (from == DType::F32) {  // dense near the ranges of the narrow floats, with all ways to round
    for (int i = 0; i < 60000; ++i) values.push_back(memory_bits(from, (random() & 0x80ffffffu) + ((100u + random() % 50) << 23)));
    for (int i = 0; i < 20000; ++i) values.push_back(memory_bits(from, (random() & 0xfff00000u) | 0x80000u >> (random() % 3)));
  }
  for (int i = 0; i < 4000 && bytes >= 4; ++i) values.push_back(memory_bits(from, random()));
  for (int i = 0; i < 4000 && from == DType::F64; ++i)
    values.push_back(bits_of(from, std::ldexp(static_cast<double>(static_cast<i64>(random())), static_cast<int>(random() % 80) - 79)));
  for (int i = 0; i < 4000 && from == DType::I64; ++i)
    values.push_back(static_cast<std::uint64_t>(static_cast<i64>(random()) >> (random() % 63)));
  while (values.size() % 64 != 0) values.push_back(values[0]);
  return values;
}

void check_casts(DType from, int lanes) {
  const Kernel kernel(program_from(from, lanes));
  const std::vector<std::uint64_t> values = values_of(from);
  std::vector<std::vector<std::byte>> memory = {to_memory(from, values)};
  for (std::size_t k = 0; k < std::size(kAll); ++k) memory.emplace_back((values.size() + 64) * 8, std::byte{0x55});
  std::vector<void*> pointers;
  for (std::vector<std::byte>& m : memory) pointers.push_back(m.data());
  kernel.run(pointers, 0, static_cast<i64>(values.size()));
  for (std::size_t k = 0; k < std::size(kAll); ++k) {
    int wrong = 0;
    for (std::size_t i = 0; i < values.size() && wrong < 3; ++i) {
      const std::uint64_t argument = argument_bits(from, values[i]);
      const std::uint64_t want = memory_bits(kAll[k], loop::evaluate_primitive(loop::Code::Cast, kAll[k], from, {&argument, 1}));
      const std::uint64_t got = element(kAll[k], memory[k + 1], i);
      // From f32 even the NaNs are defined.
      if (from == DType::F32 && compute_dtype(kAll[k]) != kAll[k] ? got == want : same_value(kAll[k], got, want)) continue;
      ++wrong;
      FAIL_CHECK(cat("cast ", from, " -> ", kAll[k], " lanes ", lanes, ": of ", values[i], " got ", got, ", want ", want));
    }
  }
}

TEST_CASE("every cast gives the bits of evaluate_primitive, all values of the narrow dtypes and edges of the wide ones") {
  for (const DType from : kAll) {
    for (const int lanes : {1, 8, 32}) check_casts(from, lanes);
  }
}

TEST_CASE("casts of 2, 4 and 64 lanes agree too") {
  for (const DType from : {DType::Bool, DType::I64, DType::F32, DType::F64, DType::BF16}) {
    for (const int lanes : {2, 4, 64}) check_casts(from, lanes);
  }
}

TEST_CASE("all casts can be made for AVX-512") {
  for (const DType from : kAll) {
    for (const int lanes : {1, 4, 8, 16, 64})
      CHECK(!generate(program_from(from, lanes), 0, describe_target(Isa::Avx512), "avx512").bytes.empty());
  }
}

TEST_CASE("an error of LLVM comes back as an exception, and the next compile works") {
  // After such an error LLVM's objects are in no state to be destroyed: they are given up, which is no leak to report.
  if (__lsan_disable != nullptr) __lsan_disable();
  // Conversions for AVX-512 name instructions that the features of AVX2 do not have.
  CHECK_THROWS_AS(Kernel(program_from(DType::F32, 64), 0, Form::Wide), InternalError);
  if (__lsan_enable != nullptr) __lsan_enable();
  check_casts(DType::F32, 8);
}

TEST_CASE("a bitcast keeps the bits") {
  const std::pair<DType, DType> pairs[] = {
      {DType::F32, DType::I32}, {DType::I32, DType::F32}, {DType::F64, DType::I64}, {DType::I64, DType::F64}};
  for (const auto& [from, to] : pairs) {
    for (const int lanes : {1, 8, 64}) {
      Phase p;
      const int input = p.pointer(0);
      const int output = p.pointer(1);
      const int loop = p.loop(p.begin(), p.end(), lanes);
      p.store(to, lanes, output, loop, p.op(Operation::Bitcast, to, lanes, p.load(from, lanes, input, loop)));
      p.end_loop(loop);
      std::vector<std::uint64_t> values = edge_values(from);
      values.resize(64);
      const std::vector<std::byte> in = to_memory(from, values);
      std::vector<std::byte> out(in.size());
      Kernel(p.program()).run({const_cast<std::byte*>(in.data()), out.data()}, 0, 64);
      CHECK(std::memcmp(in.data(), out.data(), static_cast<std::size_t>(64 * size_bytes(from))) == 0);
    }
  }
}

}  // namespace
}  // namespace resilin
