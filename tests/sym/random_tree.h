// tests/sym/random_tree.h -- Internal: random integer expressions that are evaluated by the plainest means and built as Dims beside it.
#pragma once

#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "resilin/sym/dim.h"
#include "resilin/sym/evaluate.h"

namespace resilin {

/// The seed of all random tests; RESILIN_TEST_SEED overrides it, failures print it.
inline unsigned test_seed() {
  const char* text = std::getenv("RESILIN_TEST_SEED");
  return text == nullptr ? 20250114u : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

/// An expression as it was written, without any canonical form.
struct Tree {
  char op = 'c';  // c constant, s symbol, + - * / % and < (min), > (max)
  i64 value = 0;
  std::shared_ptr<const Tree> a;
  std::shared_ptr<const Tree> b;
};

inline i64 floor_divide(i64 a, i64 b) {
  if (b == 0) return 0;
  const i64 rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? a / b - 1 : a / b;
}

inline i64 value_of(const Tree& t, std::span<const i64> symbols) {
  if (t.op == 'c') return t.value;
  if (t.op == 's') return symbols[static_cast<std::size_t>(t.value)];
  const i64 a = value_of(*t.a, symbols);
  const i64 b = value_of(*t.b, symbols);
  switch (t.op) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return floor_divide(a, b);
    case '%': return b == 0 ? 0 : a - b * floor_divide(a, b);
    case '<': return a < b ? a : b;
    default: return a > b ? a : b;
  }
}

/// Throws ArgumentError where a divisor is the constant 0.
inline Dim dim_of(const Tree& t) {
  if (t.op == 'c') return t.value;
  if (t.op == 's') return Dim::symbol('s', static_cast<int>(t.value));
  const Dim a = dim_of(*t.a);
  const Dim b = dim_of(*t.b);
  switch (t.op) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return floordiv(a, b);
    case '%': return mod(a, b);
    case '<': return min(a, b);
    default: return max(a, b);
  }
}

inline std::string text_of(const Tree& t) {
  if (t.op == 'c') return cat(t.value);
  if (t.op == 's') return cat('s', t.value);
  return cat('(', text_of(*t.a), ' ', t.op, ' ', text_of(*t.b), ')');
}

class RandomTrees {
 public:
  RandomTrees(unsigned seed, int symbols) : random_(seed), symbols_(symbols) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  std::shared_ptr<const Tree> leaf() {
    Tree t;
    if (below(4) == 0) {
      t.value = below(12) - 4;
    } else {
      t.op = 's';
      t.value = below(symbols_);
    }
    return std::make_shared<const Tree>(t);
  }

  std::shared_ptr<const Tree> tree(int operations) {
    if (operations <= 0) return leaf();
    static constexpr char kOps[] = "+++-***//%%<>";
    Tree t;
    t.op = kOps[below(sizeof kOps - 1)];
    const int left = below(operations);
    t.a = tree(left);
    t.b = tree(operations - 1 - left);
    // Index arithmetic divides by small things far more often than by sums.
    if ((t.op == '/' || t.op == '%') && below(3) != 0) t.b = below(2) == 0 ? leaf() : constant(2 + below(6));
    return std::make_shared<const Tree>(t);
  }

  static std::shared_ptr<const Tree> constant(i64 value) {
    Tree t;
    t.value = value;
    return std::make_shared<const Tree>(t);
  }

 private:
  std::mt19937 random_;
  int symbols_;
};

/// The value of e where a division by 0 gives 0.
inline i64 total_value(Dim e, std::span<const i64> symbols) {
  i64 result = 0;
  DimProgram(std::span<const Dim>(&e, 1)).evaluate(symbols, &result);
  return result;
}

}  // namespace resilin
