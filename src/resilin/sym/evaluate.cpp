// src/resilin/sym/evaluate.cpp -- compiles expressions to stack programs and runs them.
#include "resilin/sym/evaluate.h"

#include <algorithm>

#include "resilin/sym/dim_node.h"
#include "resilin/sym/floor.h"

namespace resilin {
namespace {

// A level of an expression holds at most a sum, a product and one more operand.
constexpr int kStack = 3 * static_cast<int>(kMaxDimDepth) + 8;

[[noreturn]] void refuse_overflow() {
  throw ArgumentError("sizes: an expression of the sizes does not fit 64 bits; the sizes must be smaller");
}

i64 quotient(i64 a, i64 b) {
  if (b == 0) return 0;
  if (b != -1) return floor_quotient(a, b);
  i64 result = 0;
  if (__builtin_sub_overflow(i64{0}, a, &result)) refuse_overflow();
  return result;
}

}  // namespace

DimProgram::DimProgram(std::span<const Dim> dims) {
  for (const Dim dim : dims) {
    const DimKind kind = kind_of(dim);
    if (kind == DimKind::Constant) {
      results_.push_back({Code::Constant, dim.value()});
    } else if (kind == DimKind::Symbol) {
      results_.push_back({Code::Symbol, symbol_of(dim)});
    } else {
      compile(dim);
      steps_.push_back({Code::Store, static_cast<i64>(results_.size())});
      results_.push_back({Code::Store, 0});
    }
  }
}

i64 DimProgram::symbol_of(Dim dim) {
  const Symbol symbol = dim.as_symbol();
  if (symbol.space != 's') throw ArgumentError(cat("sizes: a symbol without a value: ", dim, "; only s0, s1, ... have one at a launch"));
  symbol_count_ = std::max(symbol_count_, symbol.index + 1);
  return symbol.index;
}

void DimProgram::compile(Dim dim) {
  const DimView parts = view(dim);
  switch (parts.kind) {
    case DimKind::Constant: steps_.push_back({Code::Constant, parts.constant}); return;
    case DimKind::Symbol: steps_.push_back({Code::Symbol, symbol_of(dim)}); return;
    case DimKind::Sum: return compile_sum(parts);
    case DimKind::Product: return compile_chain(parts, Code::Multiply);
    case DimKind::FloorDiv: return compile_chain(parts, Code::FloorDiv);
    case DimKind::Mod: return compile_chain(parts, Code::Mod);
    case DimKind::Min: return compile_chain(parts, Code::Min);
    case DimKind::Max: return compile_chain(parts, Code::Max);
  }
}

void DimProgram::compile_sum(const DimView& parts) {
  for (std::size_t i = 0; i < parts.arguments.size(); ++i) {
    compile(parts.arguments[i]);
    if (parts.factors[i] != 1) {
      steps_.push_back({Code::Constant, parts.factors[i]});
      steps_.push_back({Code::Multiply, 0});
    }
    if (i != 0) steps_.push_back({Code::Add, 0});
  }
  if (parts.constant == 0) return;
  steps_.push_back({Code::Constant, parts.constant});
  steps_.push_back({Code::Add, 0});
}

void DimProgram::compile_chain(const DimView& parts, Code code) {
  compile(parts.arguments[0]);
  for (const Dim argument : parts.arguments.subspan(1)) {
    compile(argument);
    steps_.push_back({code, 0});
  }
}

void DimProgram::evaluate(std::span<const i64> symbols, i64* out) const {
  RESILIN_ASSERT(symbols.size() >= static_cast<std::size_t>(symbol_count_), cat(symbols.size(), " values for ", symbol_count_, " symbols"));
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const Result& result = results_[i];
    if (result.code != Code::Store)
      out[i] = result.code == Code::Constant ? result.operand : symbols[static_cast<std::size_t>(result.operand)];
  }
  if (!steps_.empty()) run_steps(symbols, out);
}

void DimProgram::run_steps(std::span<const i64> symbols, i64* out) const {
  i64 stack[kStack];
  i64* top = stack;  // the first free place
  bool overflowed = false;
  for (const Step& step : steps_) {
    switch (step.code) {
      case Code::Constant: *top++ = step.operand; continue;
      case Code::Symbol: *top++ = symbols[static_cast<std::size_t>(step.operand)]; continue;
      case Code::Store: out[step.operand] = *--top; continue;
      default: break;
    }
    const i64 b = *--top;
    i64& a = top[-1];
    switch (step.code) {
      case Code::Add: overflowed |= __builtin_add_overflow(a, b, &a); break;
      case Code::Multiply: overflowed |= __builtin_mul_overflow(a, b, &a); break;
      case Code::FloorDiv: a = quotient(a, b); break;
      case Code::Mod: a = b == 0 || b == -1 ? 0 : floor_remainder(a, b); break;
      case Code::Min: a = std::min(a, b); break;
      default: a = std::max(a, b); break;
    }
  }
  if (overflowed) refuse_overflow();
}

}  // namespace resilin
