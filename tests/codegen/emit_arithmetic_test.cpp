// tests/codegen/emit_arithmetic_test.cpp -- every elementwise instruction against the one definition of its meaning.
#include <doctest/doctest.h>

#include "tests/codegen/program_kit.h"
#include "tests/codegen/values.h"

namespace resilin {
namespace {

using namespace kit;
using loop::Code;

struct OpCase {
  Operation operation;
  Code code;
  int operands;
  bool gives_bool = false;
};

const std::vector<OpCase> kFloatOps = {{Operation::Neg, Code::Neg, 1},
                                       {Operation::Abs, Code::Abs, 1},
                                       {Operation::Sqrt, Code::Sqrt, 1},
                                       {Operation::Floor, Code::Floor, 1},
                                       {Operation::Ceil, Code::Ceil, 1},
                                       {Operation::Trunc, Code::Trunc, 1},
                                       {Operation::RoundEven, Code::RoundEven, 1},
                                       {Operation::Add, Code::Add, 2},
                                       {Operation::Sub, Code::Sub, 2},
                                       {Operation::Mul, Code::Mul, 2},
                                       {Operation::Div, Code::Div, 2},
                                       {Operation::Min, Code::Min, 2},
                                       {Operation::Max, Code::Max, 2},
                                       {Operation::Fma, Code::Fma, 3},
                                       {Operation::Eq, Code::Eq, 2, true},
                                       {Operation::Ne, Code::Ne, 2, true},
                                       {Operation::Lt, Code::Lt, 2, true},
                                       {Operation::Le, Code::Le, 2, true},
                                       {Operation::Gt, Code::Gt, 2, true},
                                       {Operation::Ge, Code::Ge, 2, true}};
const std::vector<OpCase> kIntegerOps = {{Operation::Neg, Code::Neg, 1},
                                         {Operation::Abs, Code::Abs, 1},
                                         {Operation::Not, Code::Not, 1},
                                         {Operation::Add, Code::Add, 2},
                                         {Operation::Sub, Code::Sub, 2},
                                         {Operation::Mul, Code::Mul, 2},
                                         {Operation::DivInt, Code::DivInt, 2},
                                         {Operation::ModInt, Code::ModInt, 2},
                                         {Operation::Min, Code::Min, 2},
                                         {Operation::Max, Code::Max, 2},
                                         {Operation::And, Code::And, 2},
                                         {Operation::Or, Code::Or, 2},
                                         {Operation::Xor, Code::Xor, 2},
                                         {Operation::ShiftLeft, Code::ShiftLeft, 2},
                                         {Operation::ShiftRight, Code::ShiftRight, 2},
                                         {Operation::ShiftRightLogical, Code::ShiftRightLogical, 2},
                                         {Operation::Eq, Code::Eq, 2, true},
                                         {Operation::Ne, Code::Ne, 2, true},
                                         {Operation::Lt, Code::Lt, 2, true},
                                         {Operation::Le, Code::Le, 2, true},
                                         {Operation::Gt, Code::Gt, 2, true},
                                         {Operation::Ge, Code::Ge, 2, true}};
const std::vector<OpCase> kBoolOps = {{Operation::Not, Code::Not, 1},     {Operation::And, Code::And, 2},
                                      {Operation::Or, Code::Or, 2},       {Operation::Xor, Code::Xor, 2},
                                      {Operation::Eq, Code::Eq, 2, true}, {Operation::Ne, Code::Ne, 2, true},
                                      {Operation::Lt, Code::Lt, 2, true}, {Operation::Le, Code::Le, 2, true},
                                      {Operation::Gt, Code::Gt, 2, true}, {Operation::Ge, Code::Ge, 2, true}};

std::vector<OpCase> ops_of(DType dtype, Form form) {
  std::vector<OpCase> ops = is_floating(dtype) ? kFloatOps : dtype == DType::Bool ? kBoolOps : kIntegerOps;
  if (form == Form::Wide)
    std::erase_if(ops, [](const OpCase& op) { return op.operation == Operation::DivInt || op.operation == Operation::ModInt; });
  if (dtype == DType::I32) ops.push_back({Operation::MulHigh32, Code::MulHigh32, 2});
  return ops;
}

/// One kernel: three inputs, one output for each operation.
loop::Program program_of(DType dtype, int lanes, const std::vector<OpCase>& ops) {
  Phase p;
  const int pointers[3] = {p.pointer(0), p.pointer(1), p.pointer(2)};
  const int loop = p.loop(p.begin(), p.end(), lanes);
  int inputs[3];
  for (int k = 0; k < 3; ++k) inputs[k] = p.load(dtype, lanes, pointers[k], loop);
  for (std::size_t k = 0; k < ops.size(); ++k) {
    const DType type = ops[k].gives_bool ? DType::Bool : dtype;
    const int value =
        p.op(ops[k].operation, type, lanes, inputs[0], ops[k].operands > 1 ? inputs[1] : -1, ops[k].operands > 2 ? inputs[2] : -1);
    p.store(type, lanes, p.pointer(static_cast<int>(k) + 3), loop, value);
  }
  p.end_loop(loop);
  return p.program();
}

/// All pairs of edge values, with a third operand that varies.
std::vector<std::vector<std::uint64_t>> operands_of(DType dtype) {
  const std::vector<std::uint64_t> edges = edge_values(dtype);
  std::vector<std::vector<std::uint64_t>> lists(3);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (std::size_t j = 0; j < edges.size(); ++j) {
      lists[0].push_back(edges[i]);
      lists[1].push_back(edges[j]);
      lists[2].push_back(edges[(i * 31 + j * 7) % edges.size()]);
    }
  }
  while (lists[0].size() % 64 != 0) {
    for (std::vector<std::uint64_t>& list : lists) list.push_back(list[0]);
  }
  return lists;
}

void check_ops(DType dtype, int lanes, Form form = Form::Avx2) {
  const std::vector<OpCase> ops = ops_of(dtype, form);
  const Kernel kernel(program_of(dtype, lanes, ops), 0, form);
  const std::vector<std::vector<std::uint64_t>> lists = operands_of(dtype);
  const std::size_t count = lists[0].size();
  std::vector<std::vector<std::byte>> memory;
  for (const std::vector<std::uint64_t>& list : lists) memory.push_back(to_memory(dtype, list));
  for (std::size_t k = 0; k < ops.size(); ++k) memory.emplace_back((count + 64) * 8, std::byte{0x55});
  std::vector<void*> pointers;
  for (std::vector<std::byte>& m : memory) pointers.push_back(m.data());
  kernel.run(pointers, 0, static_cast<i64>(count));
  for (std::size_t k = 0; k < ops.size(); ++k) {
    const DType type = ops[k].gives_bool ? DType::Bool : dtype;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count && wrong < 3; ++i) {
      const std::uint64_t args[3] = {argument_bits(dtype, lists[0][i]), argument_bits(dtype, lists[1][i]),
                                     argument_bits(dtype, lists[2][i])};
      const std::uint64_t want = loop::evaluate_primitive(ops[k].code, type, dtype, {args, static_cast<std::size_t>(ops[k].operands)});
      const std::uint64_t got = element(type, memory[k + 3], i);
      if (same_value(type, got, memory_bits(type, want))) continue;
      ++wrong;
      FAIL_CHECK(cat(loop::name(ops[k].code), " ", dtype, " lanes ", lanes, ": of ", lists[0][i], ", ", lists[1][i], " got ", got,
                     ", want ", memory_bits(type, want)));
    }
  }
}

TEST_CASE("every elementwise instruction computes what evaluate_primitive says, for every dtype and number of lanes") {
  for (const DType dtype : {DType::Bool, DType::U8, DType::I8, DType::I16, DType::I32, DType::I64, DType::F32, DType::F64}) {
    for (const int lanes : {1, 8, 32, 64}) check_ops(dtype, lanes);
  }
}

TEST_CASE("two and four lanes compute the same as many") {
  for (const DType dtype : {DType::Bool, DType::U8, DType::I32, DType::I64, DType::F32, DType::F64}) {
    for (const int lanes : {2, 4, 16}) check_ops(dtype, lanes);
  }
}

TEST_CASE("the emission for 64-byte vectors computes the same") {
  for (const DType dtype : {DType::Bool, DType::U8, DType::I16, DType::I32, DType::I64, DType::F32, DType::F64}) {
    for (const int lanes : {1, 8, 64}) check_ops(dtype, lanes, Form::Wide);
  }
}

TEST_CASE("every elementwise instruction can be made for AVX-512") {
  for (const DType dtype : {DType::Bool, DType::U8, DType::I8, DType::I16, DType::I32, DType::I64, DType::F32, DType::F64}) {
    for (const int lanes : {1, 4, 64}) {
      const std::vector<OpCase> ops = ops_of(dtype, Form::Avx2);
      CHECK(!generate(program_of(dtype, lanes, ops), 0, describe_target(Isa::Avx512), "avx512").bytes.empty());
    }
  }
}

/// Select by a mask that was compared in another dtype.
void check_select(DType compared, DType dtype, int lanes, Form form) {
  Phase p;
  const int pointers[5] = {p.pointer(0), p.pointer(1), p.pointer(2), p.pointer(3), p.pointer(4)};
  const int loop = p.loop(p.begin(), p.end(), lanes);
  const int mask =
      p.op(Operation::Lt, DType::Bool, lanes, p.load(compared, lanes, pointers[0], loop), p.load(compared, lanes, pointers[1], loop));
  const int a = p.load(dtype, lanes, pointers[2], loop);
  const int b = p.load(dtype, lanes, pointers[3], loop);
  p.store(dtype, lanes, pointers[4], loop, p.op(Operation::Select, dtype, lanes, mask, a, b));
  p.end_loop(loop);
  const Kernel kernel(p.program(), 0, form);
  std::vector<std::uint64_t> x(64), y(64, bits_of(compared, 1)), yes(64), no(64);
  for (std::size_t i = 0; i < 64; ++i) {
    x[i] = bits_of(compared, i % 3 == 0 || i % 7 == 2 ? 0 : 1);
    yes[i] = dtype == DType::Bool ? i & 1 : memory_bits(dtype, 0x3f3f3f3f3f3f3f00u + i);
    no[i] = dtype == DType::Bool ? (i >> 1) & 1 : memory_bits(dtype, 0x2e2e2e2e2e2e2e40u + i);
  }
  std::vector<std::byte> memory[5] = {to_memory(compared, x), to_memory(compared, y), to_memory(dtype, yes), to_memory(dtype, no),
                                      to_memory(dtype, no)};
  kernel.run({memory[0].data(), memory[1].data(), memory[2].data(), memory[3].data(), memory[4].data()}, 0, 64);
  for (std::size_t i = 0; i < 64; ++i) {
    CAPTURE(i);
    CHECK(element(dtype, memory[4], i) == (i % 3 == 0 || i % 7 == 2 ? yes[i] : no[i]));
  }
}

TEST_CASE("a mask of one dtype selects values of any other") {
  const DType all[] = {DType::Bool, DType::U8, DType::I16, DType::I32, DType::I64, DType::F16, DType::BF16, DType::F32, DType::F64};
  for (const DType compared : {DType::Bool, DType::U8, DType::I16, DType::F32, DType::I64}) {
    for (const DType dtype : all) {
      CAPTURE(compared);
      CAPTURE(dtype);
      for (const int lanes : {1, 4, 32}) check_select(compared, dtype, lanes, Form::Avx2);
      check_select(compared, dtype, 64, Form::Wide);
    }
  }
}

}  // namespace
}  // namespace resilin
