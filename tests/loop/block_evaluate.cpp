// tests/loop/block_evaluate.cpp -- one typed loop per step of a formula.
#include "tests/loop/block_evaluate.h"

#include <bit>
#include <cmath>
#include <type_traits>

namespace resilin::loop {
namespace {

using Word = std::uint64_t;

template <class T>
T get(Word w) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(w);
  } else {
    return std::bit_cast<T>(static_cast<std::uint32_t>(w));
  }
}
Word put(float v) { return std::bit_cast<std::uint32_t>(v); }
Word put(double v) { return std::bit_cast<Word>(v); }
Word put(std::int32_t v) { return static_cast<Word>(static_cast<i64>(v)); }
Word put(i64 v) { return static_cast<Word>(v); }
Word put(bool v) { return v ? 1 : 0; }

struct Operands {
  const Word* a;
  const Word* b;
  const Word* c;
  Word* out;
  int count;
};

template <class T, class F>
bool unary(const Operands& o, F f) {
  for (int i = 0; i < o.count; ++i) o.out[i] = put(f(get<T>(o.a[i])));
  return true;
}
template <class T, class F>
bool binary(const Operands& o, F f) {
  for (int i = 0; i < o.count; ++i) o.out[i] = put(f(get<T>(o.a[i]), get<T>(o.b[i])));
  return true;
}

template <class T>
bool run_compare(Code code, const Operands& o) {
  switch (code) {
    case Code::Eq: return binary<T>(o, [](T a, T b) { return a == b; });
    case Code::Ne: return binary<T>(o, [](T a, T b) { return a != b; });
    case Code::Lt: return binary<T>(o, [](T a, T b) { return a < b; });
    case Code::Le: return binary<T>(o, [](T a, T b) { return a <= b; });
    case Code::Gt: return binary<T>(o, [](T a, T b) { return a > b; });
    case Code::Ge: return binary<T>(o, [](T a, T b) { return a >= b; });
    default: return false;
  }
}

template <class T>
bool run_float(Code code, const Operands& o) {
  switch (code) {
    case Code::Neg: return unary<T>(o, [](T a) { return -a; });
    case Code::Abs: return unary<T>(o, [](T a) { return std::fabs(a); });
    case Code::Trunc: return unary<T>(o, [](T a) { return std::trunc(a); });
    case Code::Add: return binary<T>(o, [](T a, T b) { return a + b; });
    case Code::Sub: return binary<T>(o, [](T a, T b) { return a - b; });
    case Code::Mul: return binary<T>(o, [](T a, T b) { return a * b; });
    case Code::Div: return binary<T>(o, [](T a, T b) { return a / b; });
    case Code::Fma:
      for (int i = 0; i < o.count; ++i) o.out[i] = put(std::fma(get<T>(o.a[i]), get<T>(o.b[i]), get<T>(o.c[i])));
      return true;
    default: return run_compare<T>(code, o);
  }
}

template <class T>
bool run_integer(Code code, const Operands& o) {
  using U = std::make_unsigned_t<T>;
  constexpr U kMask = sizeof(T) * 8 - 1;
  switch (code) {
    case Code::Add: return binary<T>(o, [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
    case Code::Sub: return binary<T>(o, [](T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); });
    case Code::Mul: return binary<T>(o, [](T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); });
    case Code::And: return binary<T>(o, [](T a, T b) { return static_cast<T>(a & b); });
    case Code::Or: return binary<T>(o, [](T a, T b) { return static_cast<T>(a | b); });
    case Code::Xor: return binary<T>(o, [](T a, T b) { return static_cast<T>(a ^ b); });
    case Code::ShiftLeft: return binary<T>(o, [](T a, T b) { return static_cast<T>(static_cast<U>(a) << (static_cast<U>(b) & kMask)); });
    case Code::ShiftRightLogical:
      return binary<T>(o, [](T a, T b) { return static_cast<T>(static_cast<U>(a) >> (static_cast<U>(b) & kMask)); });
    case Code::MulHigh32:
      return binary<T>(
          o, [](T a, T b) { return static_cast<T>((static_cast<std::uint32_t>(a) * Word{static_cast<std::uint32_t>(b)}) >> 32); });
    default: return run_compare<T>(code, o);
  }
}

bool run_logic(Code code, const Operands& o) {
  for (int i = 0; i < o.count; ++i) {
    const Word b = o.b != nullptr ? o.b[i] : 0;
    o.out[i] = code == Code::Not ? 1 - o.a[i] : code == Code::And ? o.a[i] & b : code == Code::Or ? o.a[i] | b : o.a[i] ^ b;
  }
  return code == Code::Not || code == Code::And || code == Code::Or || code == Code::Xor;
}

bool run_cast(DType to, DType from, const Operands& o) {
  if (from == DType::F32 && to == DType::F64) return unary<float>(o, [](float a) { return static_cast<double>(a); });
  if (from == DType::F64 && to == DType::F32) return unary<double>(o, [](double a) { return static_cast<float>(a); });
  if (from == DType::I32 && to == DType::F32) return unary<std::int32_t>(o, [](std::int32_t a) { return static_cast<float>(a); });
  if (from == DType::I64 && to == DType::I32) return unary<i64>(o, [](i64 a) { return static_cast<std::int32_t>(a); });
  return false;
}

bool run_bitcast(DType to, const Operands& o) {
  if (to == DType::I32) return unary<std::int32_t>(o, [](std::int32_t a) { return a; });
  if (to == DType::F32) return unary<float>(o, [](float a) { return a; });
  return unary<i64>(o, [](i64 a) { return a; });
}

bool run(Code code, DType dtype, DType from, const Operands& o) {
  if (code == Code::Select) {
    for (int i = 0; i < o.count; ++i) o.out[i] = o.a[i] != 0 ? o.b[i] : o.c[i];
    return true;
  }
  if (code == Code::Cast) return run_cast(dtype, from, o);
  if (code == Code::Bitcast) return run_bitcast(dtype, o);
  switch (from) {
    case DType::Bool: return run_logic(code, o);
    case DType::I32: return run_integer<std::int32_t>(code, o);
    case DType::I64: return run_integer<i64>(code, o);
    case DType::F32: return run_float<float>(code, o);
    case DType::F64: return run_float<double>(code, o);
    default: return false;
  }
}

}  // namespace

int BlockFormula::add(const Scalar& a) {
  const std::unordered_map<const void*, int>::iterator found = known_.find(a.identity());
  if (found != known_.end()) return found->second;
  Step step{a.code(), a.dtype(), a.dtype(), a.index(), a.bits(), {-1, -1, -1}};
  for (std::size_t i = 0; i < a.args().size(); ++i) step.args[i] = add(a.args()[i]);
  if (!a.args().empty()) step.from = a.args().back().dtype();
  const int position = step_count();
  steps_.push_back(step);
  values_.emplace_back(kBlock, step.bits);
  known_.emplace(a.identity(), position);
  return position;
}

std::span<const std::uint64_t> BlockFormula::evaluate(std::span<const std::vector<std::uint64_t>> inputs, int count) {
  const auto row = [this](int step) { return step < 0 ? nullptr : values_[static_cast<std::size_t>(step)].data(); };
  for (int s = 0; s < step_count(); ++s) {
    const Step& step = steps_[static_cast<std::size_t>(s)];
    if (step.code == Code::Constant) continue;
    if (step.code == Code::Input) {
      std::copy_n(inputs[static_cast<std::size_t>(step.index)].begin(), count, row(s));
      continue;
    }
    const Operands operands{row(step.args[0]), row(step.args[1]), row(step.args[2]), row(s), count};
    if (!run(step.code, step.dtype, step.from, operands))
      throw InternalError(cat("block_evaluate: no ", name(step.code), " of ", step.from));
  }
  return {row(result_), static_cast<std::size_t>(count)};
}

}  // namespace resilin::loop
