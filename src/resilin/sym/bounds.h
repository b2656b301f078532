// src/resilin/sym/bounds.h -- Internal: intervals of expressions under facts.
#pragma once

#include <unordered_map>

#include "resilin/sym/facts.h"
#include "resilin/sym/polynomial.h"

namespace resilin {

// Interval arithmetic whose ends saturate at Range::kLowest and kHighest, which are unbounded.
Range interval_of(i64 value);
Range add(Range a, Range b);
Range multiply(Range a, Range b);
/// A divisor of 0 gives 0.
Range floordiv(Range a, Range b);
Range mod(Range a, Range b);
/// a when nothing is left, which only facts that contradict each other bring about.
Range intersect(Range a, Range b);

/// Ranges of polynomials and atoms by interval arithmetic, narrowed by assumed inequalities that differ from them by a constant.
class Bounds {
 public:
  explicit Bounds(const Facts& facts) : facts_(facts) {}
  Range of_atom(Dim atom);
  Range of(const Polynomial& p);
  bool at_least(const Polynomial& p, i64 low);

 private:
  Range compute(Dim atom);
  Range of_monomial(const Monomial& atoms);
  Range of_sum(const Polynomial& p);
  /// The same value, expanded around the low ends of its atoms: finds that (s0 - 1)*s1 is not negative where s0 >= 1.
  Range of_shifted(const Polynomial& p);
  Range by_inequalities(const Polynomial& p) const;

  const Facts& facts_;
  std::unordered_map<std::uintptr_t, Range> known_;
};

}  // namespace resilin
