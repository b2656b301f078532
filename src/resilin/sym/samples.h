// src/resilin/sym/samples.h -- Internal: points at which facts hold, to see at once that something cannot be proven.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "resilin/sym/facts.h"
#include "resilin/sym/polynomial.h"

namespace resilin {

/// A few assignments of integers to symbols that satisfy all facts; none when the facts are too involved to find one by a little repair.
/// A search for a proof of p >= 0 ends where p is negative at one of them: only effort is saved, no answer depends on them.
class Samples {
 public:
  explicit Samples(const Facts& facts);
  bool refutes(const Polynomial& p);

 private:
  struct Point {
    unsigned kind = 0;
    std::unordered_map<std::uintptr_t, i64> symbols;
    std::unordered_map<std::uintptr_t, std::optional<i64>> atoms;
  };
  i64 first_value(const Point& point, Symbol symbol) const;
  std::optional<i64> value_of_atom(Point& point, Dim atom) const;
  std::optional<i64> value_of_term(Point& point, i64 factor, std::span<const Dim> atoms) const;
  std::optional<i64> value_of(Point& point, Dim e) const;
  std::optional<i64> value_of(Point& point, const Polynomial& p) const;
  bool holds(Point& point) const;
  bool repair(Point& point) const;
  /// Moves one symbol of f so that f, which is `missing` too small, becomes 0 or more.
  bool raise(Point& point, const Polynomial& f, i64 missing) const;
  bool move(Point& point, Dim symbol, i64 factor, i64 missing) const;

  const Facts& facts_;
  std::vector<Point> points_;
};

}  // namespace resilin
