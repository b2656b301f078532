// tests/codegen/emit_control_test.cpp -- loops, conditions, parameters, reports and rearranged vectors.
#include <numeric>
#include <thread>

#include <doctest/doctest.h>

#include "tests/codegen/program_kit.h"
#include "tests/codegen/values.h"

namespace resilin {
namespace {

using namespace kit;

TEST_CASE("a loop carries scalars, vectors and masks, and gives the initial ones when it never runs") {
  for (const int lanes : {8, 64}) {
    Phase p;
    const int first = p.op(Operation::Splat, DType::I32, lanes, p.constant(DType::I32, 1, 1));
    const int none = p.constant(DType::Bool, 0, lanes);
    const int sum = p.integer(0);
    const int loop = p.loop(p.begin(), p.end(), 3, {sum, first, none});
    const auto carried = [&](int which, DType type, int width) { return p.op(Operation::LoopCarried, type, width, loop, -1, -1, which); };
    const int s = p.op(Operation::Add, DType::I64, 1, carried(0, DType::I64, 1), loop);
    const int doubled = p.op(Operation::Add, DType::I32, lanes, carried(1, DType::I32, lanes), carried(1, DType::I32, lanes));
    const int even =
        p.op(Operation::Eq, DType::Bool, lanes, p.op(Operation::Iota, DType::I32, lanes, -1), p.constant(DType::I32, 2, lanes));
    const int mask = p.op(Operation::Xor, DType::Bool, lanes, carried(2, DType::Bool, lanes), even);
    p.end_loop(loop, {s, doubled, mask});
    const auto result = [&](int which, DType type, int width) { return p.op(Operation::LoopResult, type, width, loop, -1, -1, which); };
    const int zero = p.integer(0);
    p.store(DType::I64, 1, p.pointer(0), zero, result(0, DType::I64, 1));
    p.store(DType::I32, lanes, p.pointer(1), zero, result(1, DType::I32, lanes));
    p.store(DType::Bool, lanes, p.pointer(2), zero, result(2, DType::Bool, lanes));
    const Kernel kernel(p.program(), 0, lanes == 64 ? Form::Wide : Form::Avx2);
    i64 total = -1;
    std::vector<std::int32_t> powers(64, -1);
    std::vector<std::uint8_t> flags(64, 9);
    const std::vector<void*> pointers = {&total, powers.data(), flags.data()};
    kernel.run(pointers, 2, 12);  // 2, 5, 8, 11
    CHECK(total == 26);
    CHECK(powers[0] == 16);
    CHECK(powers[static_cast<std::size_t>(lanes) - 1] == 16);
    CHECK(flags[2] == 0);
    kernel.run(pointers, 2, 9);  // 2, 5, 8
    CHECK(total == 15);
    CHECK(flags[2] == 1);
    CHECK(flags[3] == 0);
    kernel.run(pointers, 4, 4);
    CHECK(total == 0);
    CHECK(powers[5] == 1);
    CHECK(flags[2] == 0);
  }
}

TEST_CASE("loops nest, and an if inside stores only where it holds") {
  Phase p;
  const int output = p.pointer(0);
  const int zero = p.integer(0);
  const int outer = p.loop(p.begin(), p.end(), 1);
  const int inner = p.loop(zero, outer, 1);
  const int odd = p.op(Operation::Eq, DType::Bool, 1, p.op(Operation::And, DType::I64, 1, inner, p.integer(1)), p.integer(1));
  const int branch = p.add({.operation = Operation::IfBegin, .a = odd});
  const int old = p.load(DType::I64, 1, output, inner);
  p.store(DType::I64, 1, output, inner, p.op(Operation::Add, DType::I64, 1, old, outer));
  p.add({.operation = Operation::IfEnd, .a = branch});
  p.end_loop(inner);
  p.end_loop(outer);
  std::vector<i64> cells(8);
  Kernel(p.program()).run({cells.data()}, 0, 7);
  std::vector<i64> want(8);
  for (i64 o = 0; o < 7; ++o) {
    for (i64 i = 0; i < o; ++i) want[static_cast<std::size_t>(i)] += i % 2 == 1 ? o : 0;
  }
  CHECK(cells == want);
}

TEST_CASE("any_false sees one false lane of many") {
  for (const int lanes : {1, 2, 8, 32, 64}) {
    Phase p;
    const int zero = p.integer(0);
    const int mask = p.load(DType::Bool, lanes, p.pointer(0), zero);
    p.store(DType::Bool, 1, p.pointer(1), zero, p.op(Operation::AnyFalse, DType::Bool, 1, mask));
    const Kernel kernel(p.program(), 0, lanes == 64 ? Form::Wide : Form::Avx2);
    std::vector<std::uint8_t> flags(64, 1);
    std::uint8_t any = 9;
    kernel.run({flags.data(), &any}, 0, 1);
    CHECK(any == 0);
    for (const int lane : {0, lanes / 2, lanes - 1}) {
      flags.assign(64, 1);
      flags[static_cast<std::size_t>(lane)] = 0;
      kernel.run({flags.data(), &any}, 0, 1);
      CHECK(any == 1);
    }
  }
}

void check_rearranged(DType dtype, int lanes, Form form) {
  std::vector<std::uint64_t> first(64), second(64);
  for (std::size_t i = 0; i < 64; ++i) {
    first[i] = dtype == DType::Bool ? i % 3 == 1 : memory_bits(dtype, i + 1);
    second[i] = dtype == DType::Bool ? i % 5 == 2 : memory_bits(dtype, i + 100);
  }
  const std::vector<std::byte> a_memory = to_memory(dtype, first);
  const std::vector<std::byte> b_memory = to_memory(dtype, second);
  std::vector<int> shifts;
  for (int shift = 1; shift < lanes; shift *= 2) shifts.push_back(shift);
  shifts.push_back(lanes - 1);
  Phase p;
  const int zero = p.integer(0);
  const int a = p.load(dtype, lanes, p.pointer(0), zero);
  const int b = p.load(dtype, lanes, p.pointer(1), zero);
  int slot = 2;
  for (const int shift : shifts) p.store(dtype, lanes, p.pointer(slot++), zero, p.op(Operation::ShiftLanes, dtype, lanes, a, b, -1, shift));
  for (const int which : {0, 1})
    p.store(dtype, lanes / 2, p.pointer(slot++), zero, p.op(Operation::Half, dtype, lanes / 2, a, -1, -1, which));
  p.store(dtype, 1, p.pointer(slot++), zero, p.op(Operation::ExtractLane, dtype, 1, a, -1, -1, lanes - 1));
  p.store(dtype, lanes, p.pointer(slot++), zero,
          p.op(Operation::Splat, dtype, lanes, p.op(Operation::ExtractLane, dtype, 1, b, -1, -1, 1)));
  p.store(DType::I64, lanes, p.pointer(slot++), zero, p.op(Operation::Iota, DType::I64, lanes, -1));
  const Kernel kernel(p.program(), 0, form);
  std::vector<std::vector<std::byte>> out(static_cast<std::size_t>(slot) - 2, std::vector<std::byte>(64 * 8));
  std::vector<void*> pointers = {const_cast<std::byte*>(a_memory.data()), const_cast<std::byte*>(b_memory.data())};
  for (std::vector<std::byte>& m : out) pointers.push_back(m.data());
  kernel.run(pointers, 0, 1);
  CAPTURE(lanes);
  CAPTURE(dtype);
  const std::size_t n = static_cast<std::size_t>(lanes);
  for (std::size_t l = 0; l < n; ++l) {
    for (std::size_t k = 0; k < shifts.size(); ++k) {
      const std::size_t shift = static_cast<std::size_t>(shifts[k]);
      CHECK(element(dtype, out[k], l) == (l >= shift ? first[l - shift] : second[l]));
    }
    if (l < n / 2) CHECK(element(dtype, out[shifts.size()], l) == first[l]);
    if (l < n / 2) CHECK(element(dtype, out[shifts.size() + 1], l) == first[n / 2 + l]);
    CHECK(element(dtype, out[shifts.size() + 3], l) == second[1]);
    CHECK(element(DType::I64, out[shifts.size() + 4], l) == l);
  }
  CHECK(element(dtype, out[shifts.size() + 2], 0) == first[n - 1]);
}

TEST_CASE("halves, shifted lanes, iota, splat and single lanes are where they belong") {
  for (const int lanes : {2, 4, 8, 16, 32, 64}) {
    for (const DType dtype : {DType::U8, DType::I16, DType::I32, DType::F64, DType::Bool}) {
      check_rearranged(dtype, lanes, Form::Avx2);
      check_rearranged(dtype, lanes, Form::Wide);
    }
  }
}

TEST_CASE("parameters come from the launch: integers, arguments of each dtype, private memory and the table") {
  Phase p;
  const int zero = p.integer(0);
  int slot = 0;
  p.store(DType::I64, 1, p.pointer(slot++), zero, p.add({.operation = Operation::Integer, .immediate = 1}));
  const DType types[] = {DType::F32, DType::F64, DType::I32, DType::I64, DType::BF16, DType::U8, DType::Bool};
  for (int k = 0; k < 7; ++k)
    p.store(types[k], 1, p.pointer(slot++), zero, p.add({.operation = Operation::Argument, .type = types[k], .immediate = k}));
  const int row = p.add({.operation = Operation::RowPointer, .is_pointer = true, .a = p.integer(64)});
  p.store(DType::F32, 8, row, zero, p.number(2.5f, 8));
  p.store(DType::F32, 1, p.pointer(slot++), zero, p.load(DType::F32, 1, row, p.integer(7)));
  const int entries = p.add({.operation = Operation::TableEntries});
  const int loop = p.loop(zero, entries, 1);
  const int target = p.add({.operation = Operation::TablePointer, .is_pointer = true, .a = loop, .immediate = 0});
  p.store(DType::I64, 1, target, zero, p.add({.operation = Operation::TableInteger, .a = loop, .immediate = 2}));
  p.end_loop(loop);
  Kernel kernel(p.program(), 3);
  std::vector<std::vector<std::byte>> out(static_cast<std::size_t>(slot), std::vector<std::byte>(64));
  std::vector<void*> pointers;
  for (std::vector<std::byte>& m : out) pointers.push_back(m.data());
  i64 cells[2] = {};
  alignas(64) std::byte private_memory[256];
  kernel.row = private_memory;
  kernel.integers = {11, 22};
  for (int k = 0; k < 7; ++k) kernel.values.push_back(bits_of(types[k], k == 6 ? 1 : 3 + k));
  kernel.table = {reinterpret_cast<i64>(&cells[0]), 5, 6, reinterpret_cast<i64>(&cells[1]), 7, 8};
  kernel.table_entries = 2;
  kernel.run(pointers, 0, 1);
  CHECK(element(DType::I64, out[0], 0) == 22);
  for (int k = 0; k < 7; ++k)
    CHECK(element(types[k], out[static_cast<std::size_t>(k) + 1], 0) == memory_bits(types[k], kernel.values[static_cast<std::size_t>(k)]));
  CHECK(element(DType::F32, out[8], 0) == std::bit_cast<std::uint32_t>(2.5f));
  CHECK(cells[0] == 6);
  CHECK(cells[1] == 8);
}

/// Fails with code 1, operand 2 wherever p0[i] < 0.
loop::Program check_program(int lanes) {
  Phase p;
  const int input = p.pointer(0);
  const int loop = p.loop(p.begin(), p.end(), lanes);
  const int value = p.load(DType::I64, lanes, input, loop);
  const int ok = p.op(Operation::Ge, DType::Bool, lanes, value, p.constant(DType::I64, 0, lanes));
  const int branch = p.add({.operation = Operation::IfBegin, .a = p.op(Operation::AnyFalse, DType::Bool, 1, ok)});
  const int base = lanes == 1 ? loop : p.op(Operation::Splat, DType::I64, lanes, loop);
  const int elements = lanes == 1 ? base : p.op(Operation::Add, DType::I64, lanes, base, p.op(Operation::Iota, DType::I64, lanes, -1));
  p.add({.operation = Operation::Report,
         .lanes = static_cast<std::uint16_t>(lanes),
         .a = ok,
         .b = elements,
         .c = value,
         .immediate = 1 * 256 + 2});
  p.add({.operation = Operation::IfEnd, .a = branch});
  p.end_loop(loop);
  return p.program();
}

TEST_CASE("a report names the smallest failing element, whoever comes first") {
  for (const int lanes : {1, 8, 64}) {
    const Kernel kernel(check_program(lanes), 0, lanes == 64 ? Form::Wide : Form::Avx2);
    std::vector<i64> values(256, 5);
    kernel.run({values.data()}, 0, 256);
    CHECK(kernel.status.code == StatusCode::Ok);
    values[200] = -1;
    values[77] = -7;
    values[78] = -8;
    kernel.run({values.data()}, 128, 256);
    CHECK(kernel.status.element == 200);
    kernel.run({values.data()}, 0, 128);
    CHECK(kernel.status.element == 77);
    CHECK(kernel.status.value == -7);
    CHECK(kernel.status.operand == 2);
    CHECK(kernel.status.code == StatusCode::IndexOutOfRange);
    kernel.run({values.data()}, 128, 256);
    CHECK(kernel.status.element == 77);
  }
}

TEST_CASE("threads that fail at once leave the smallest element") {
  const Kernel kernel(check_program(8));
  std::vector<i64> values(4096);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = -static_cast<i64>(i) - 1;
  std::vector<std::thread> threads;
  for (int part = 3; part >= 0; --part) {
    threads.emplace_back([&, part] { kernel.run({values.data()}, part * 1024, part * 1024 + 1024); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(kernel.status.element == 0);
  CHECK(kernel.status.value == -1);
}

TEST_CASE("a program that breaks a rule is refused with a sentence") {
  const auto message = [](const loop::Program& program) -> std::string {
    try {
      generate(program, 0, describe_target(Isa::Avx2), "broken");
    } catch (const InternalError& error) {
      return error.what();
    }
    return "";
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  Phase later;
  later.op(Operation::Neg, DType::F32, 8, 5);
  CHECK(has(message(later.program()), "phase 0: an operand is not an earlier instruction (instruction 0)"));
  Phase lanes;
  lanes.constant(DType::F32, 0, 3);
  CHECK(has(message(lanes.program()), "power of two"));
  Phase mixed;
  mixed.op(Operation::Add, DType::F32, 8, mixed.number(1, 8), mixed.constant(DType::I32, 1, 8));
  CHECK(has(message(mixed.program()), "operands differ in dtype"));
  Phase open;
  const int loop = open.loop(open.begin(), open.end(), 1);
  static_cast<void>(loop);
  CHECK(!message(open.program()).empty());
  Phase escaped;
  const int one = escaped.integer(1);
  const int branch = escaped.add({.operation = Operation::IfBegin, .a = escaped.constant(DType::Bool, 1, 1)});
  const int inside = escaped.op(Operation::Add, DType::I64, 1, one, one);
  escaped.add({.operation = Operation::IfEnd, .a = branch});
  escaped.store(DType::I64, 1, escaped.pointer(0), one, inside);
  CHECK(!message(escaped.program()).empty());
  Phase complex;
  complex.constant(DType::C64, 0, 8);
  CHECK(has(message(complex.program()), "complex"));
}

}  // namespace
}  // namespace resilin
