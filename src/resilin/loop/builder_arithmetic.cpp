// src/resilin/loop/builder_arithmetic.cpp -- constants, splats and folded I64 arithmetic of the builder.
#include <algorithm>
#include <bit>

#include "resilin/base/error.h"
#include "resilin/loop/builder.h"

namespace resilin::loop {

namespace {

i64 wrapped(std::uint64_t bits) { return static_cast<i64>(bits); }

}  // namespace

Value Builder::constant(DType type, std::uint64_t bits, int lanes) {
  return pure({.operation = Operation::Constant, .type = type, .lanes = static_cast<std::uint16_t>(lanes), .immediate = wrapped(bits)});
}

Value Builder::compute(Operation operation, DType type, Value a, Value b, Value c) {
  const int count = lanes(a);
  for (const Value v : {b, c}) RESILIN_ASSERT(v == kNone || lanes(v) == count, "operands of one operation have equal lanes");
  return pure({.operation = operation, .type = type, .lanes = static_cast<std::uint16_t>(count), .a = a, .b = b, .c = c});
}

Value Builder::widen(Value v, int count) {
  if (lanes(v) == count) return v;
  RESILIN_ASSERT(lanes(v) == 1, "only scalars are widened");
  const Instruction& instruction = entry(v).instruction;
  if (instruction.operation == Operation::Constant)
    return constant(instruction.type, static_cast<std::uint64_t>(instruction.immediate), count);
  return pure({.operation = Operation::Splat, .type = instruction.type, .lanes = static_cast<std::uint16_t>(count), .a = v});
}

Value Builder::add(Value a, Value b) {
  const int count = std::max(lanes(a), lanes(b));
  a = widen(a, count);
  b = widen(b, count);
  if (known(a)) std::swap(a, b);
  const std::optional<i64> constant_b = known(b);
  if (constant_b == 0) return a;
  if (known(a)) return constant(DType::I64, static_cast<std::uint64_t>(*known(a)) + static_cast<std::uint64_t>(*constant_b), count);
  if (!constant_b && a > b) std::swap(a, b);  // a + b and b + a are one value
  if (count > 1) return compute(Operation::Add, DType::I64, a, b);
  // Constants are kept outside of sums: they end in the displacement of an address.
  for (const auto& [sum, other] : {std::pair(a, b), std::pair(b, a)}) {
    const Instruction instruction = entry(sum).instruction;
    if (instruction.operation != Operation::Add || !known(instruction.b)) continue;
    return constant_b ? add(instruction.a,
                            integer(wrapped(static_cast<std::uint64_t>(*known(instruction.b)) + static_cast<std::uint64_t>(*constant_b))))
                      : add(add(instruction.a, other), instruction.b);
  }
  return compute(Operation::Add, DType::I64, a, b);
}

Value Builder::sub(Value a, Value b) {
  if (known(b)) return add(a, constant(DType::I64, -static_cast<std::uint64_t>(*known(b)), lanes(b)));
  const int count = std::max(lanes(a), lanes(b));
  if (a == b) return constant(DType::I64, 0, count);
  return compute(Operation::Sub, DType::I64, widen(a, count), widen(b, count));
}

Value Builder::mul(Value a, Value b) {
  const int count = std::max(lanes(a), lanes(b));
  a = widen(a, count);
  b = widen(b, count);
  if (known(a)) std::swap(a, b);
  const std::optional<i64> constant_b = known(b);
  if (constant_b == 1) return a;
  if (constant_b == 0) return b;
  if (known(a)) return constant(DType::I64, static_cast<std::uint64_t>(*known(a)) * static_cast<std::uint64_t>(*constant_b), count);
  if (constant_b > 0 && std::has_single_bit(static_cast<std::uint64_t>(*constant_b))) {
    const int shift = std::countr_zero(static_cast<std::uint64_t>(*constant_b));
    return compute(Operation::ShiftLeft, DType::I64, a, constant(DType::I64, static_cast<std::uint64_t>(shift), count));
  }
  if (!constant_b && a > b) std::swap(a, b);
  return compute(Operation::Mul, DType::I64, a, b);
}

Value Builder::minimum(Value a, Value b) {
  const int count = std::max(lanes(a), lanes(b));
  if (known(a) && known(b)) return constant(DType::I64, static_cast<std::uint64_t>(std::min(*known(a), *known(b))), count);
  return a == b ? a : compute(Operation::Min, DType::I64, widen(a, count), widen(b, count));
}

Value Builder::maximum(Value a, Value b) {
  const int count = std::max(lanes(a), lanes(b));
  if (known(a) && known(b)) return constant(DType::I64, static_cast<std::uint64_t>(std::max(*known(a), *known(b))), count);
  return a == b ? a : compute(Operation::Max, DType::I64, widen(a, count), widen(b, count));
}

Value Builder::round_down(Value a, i64 n) {
  if (n == 1) return a;
  if (known(a)) return integer(*known(a) & -n);
  return compute(Operation::And, DType::I64, a, widen(integer(-n), lanes(a)));
}

}  // namespace resilin::loop
