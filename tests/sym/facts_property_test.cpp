// tests/sym/facts_property_test.cpp -- every answer of Facts against all values that small symbols can have.
#include <array>

#include <doctest/doctest.h>

#include "resilin/sym/facts.h"

#include "tests/sym/random_tree.h"

namespace resilin {
namespace {

constexpr int kSymbols = 5;
using Point = std::array<i64, kSymbols>;
using TreePointer = std::shared_ptr<const Tree>;

TreePointer node(char op, TreePointer a, TreePointer b) { return std::make_shared<const Tree>(Tree{op, 0, std::move(a), std::move(b)}); }
TreePointer symbol(int index) { return std::make_shared<const Tree>(Tree{'s', index, nullptr, nullptr}); }

/// Random assumptions: what Facts was told, and the points at which that is true.
class World {
 public:
  explicit World(RandomTrees& random) : random_(random) {
    for (int k = 0; k < kSymbols; ++k) {
      ranges_[k].low = random_.below(3) == 0 ? -random_.below(3) : random_.below(3);
      ranges_[k].high = ranges_[k].low + 1 + random_.below(4);
      facts.set_range({'s', k}, ranges_[k]);
    }
    enumerate(0, Point{});
    for (int k = random_.below(5); k > 0 && usable; --k) assume();
  }

  Facts facts;
  std::vector<Point> points;
  std::string text;
  bool usable = true;  // false when the assumptions contradict each other

 private:
  void enumerate(int k, Point point) {
    if (k == kSymbols) {
      points.push_back(point);
      return;
    }
    for (i64 v = ranges_[k].low; v <= ranges_[k].high; ++v) {
      point[static_cast<std::size_t>(k)] = v;
      enumerate(k + 1, point);
    }
  }

  template <class Predicate, class Assume>
  void keep(const std::string& what, const Predicate& holds, const Assume& assume) {
    std::erase_if(points, [&](const Point& p) { return !holds(p); });
    text += what + "; ";
    const std::vector<std::string> before = facts.print();
    try {
      assume();
    } catch (const ArgumentError& error) {
      // Facts may only refuse what is impossible, and must then be as before.
      CHECK_MESSAGE(points.empty(), text, " refused: ", std::string(error.what()));
      CHECK(facts.print() == before);
      usable = false;
    }
    if (points.empty()) usable = false;
  }

  void assume() {
    const TreePointer a = random_.below(2) == 0 ? symbol(random_.below(kSymbols)) : random_.tree(1 + random_.below(3));
    const TreePointer b = random_.below(2) == 0 ? symbol(random_.below(kSymbols)) : random_.tree(1 + random_.below(2));
    Dim x, y;
    try {
      x = dim_of(*a);
      y = dim_of(*b);
    } catch (const ArgumentError&) {
      return;
    }
    const int k = random_.below(kSymbols);
    const i64 n = 1 + random_.below(3);
    switch (random_.below(4)) {
      case 0:
        return keep(
            text_of(*a) + " <= " + text_of(*b), [&](const Point& p) { return value_of(*a, p) <= value_of(*b, p); },
            [&] { facts.assume_less_equal(x, y); });
      case 1:
        return keep(
            text_of(*a) + " < " + text_of(*b), [&](const Point& p) { return value_of(*a, p) < value_of(*b, p); },
            [&] { facts.assume_less(x, y); });
      case 2:
        return keep(
            text_of(*a) + " = " + text_of(*b), [&](const Point& p) { return value_of(*a, p) == value_of(*b, p); },
            [&] { facts.assume_equal(x, y); });
      default:
        return keep(
            cat("s", k, " multiple ", n), [&](const Point& p) { return p[static_cast<std::size_t>(k)] % n == 0; },
            [&] {
              facts.set_multiple({'s', k}, n);
            });
    }
  }

  RandomTrees& random_;
  std::array<Range, kSymbols> ranges_;
};

/// Quotients and remainders of flat indices, which plain random trees hardly ever make.
TreePointer index_tree(RandomTrees& random) {
  const TreePointer n = random.below(3) == 0 ? RandomTrees::constant(2 + random.below(4)) : symbol(random.below(kSymbols));
  const TreePointer m = random.below(3) == 0 ? RandomTrees::constant(2 + random.below(3)) : symbol(random.below(kSymbols));
  TreePointer flat = node('+', node('*', symbol(random.below(kSymbols)), n), symbol(random.below(kSymbols)));
  if (random.below(2) == 0) flat = node('+', node('*', flat, m), random.leaf());
  if (random.below(4) == 0) flat = node('-', flat, random.leaf());
  const TreePointer divisor = random.below(3) == 0 ? node('*', n, m) : random.below(2) == 0 ? n : m;
  switch (random.below(5)) {
    case 0: return node('/', flat, divisor);
    case 1: return node('%', flat, divisor);
    case 2: return node('%', node('/', flat, divisor), n);
    case 3: return node('/', node('%', flat, node('*', n, m)), m);
    default: return node('+', node('*', node('*', m, divisor), node('/', flat, divisor)), node('*', m, node('%', flat, divisor)));
  }
}

TreePointer any_tree(RandomTrees& random) {
  if (random.below(2) == 0) return random.tree(1 + random.below(7));
  const TreePointer index = index_tree(random);
  return random.below(2) == 0 ? index : node("+-*<>"[random.below(5)], index, random.tree(random.below(4)));
}

struct Totals {
  int expressions = 0;
  int simpler = 0;
  int answers = 0;
};

void check_expression(const World& world, const Tree& tree, Dim e, Totals& totals) {
  const Dim simple = world.facts.simplify(e);
  const Range range = world.facts.range(e);
  const bool even = world.facts.proves_multiple(e, 2);
  totals.simpler += simple != e;
  ++totals.expressions;
  for (const Point& p : world.points) {
    const i64 value = value_of(tree, p);
    const bool right = total_value(simple, p) == value && range.low <= value && value <= range.high && (!even || value % 2 == 0);
    REQUIRE_MESSAGE(right, "seed ", test_seed(), ": ", world.text, " facts ", cat(world.facts.print()), ": ", text_of(tree), " = ", cat(e),
                    " simplified to ", cat(simple), " in ", cat(range), even ? " even" : "", " at ", cat(p));
  }
}

void check_pair(const World& world, const Tree& a, const Tree& b, Totals& totals) {
  const Dim x = dim_of(a);
  const Dim y = dim_of(b);
  const std::optional<bool> equal = world.facts.is_equal(x, y);
  const std::optional<bool> less = world.facts.is_less(x, y);
  const std::optional<bool> less_equal = world.facts.is_less_equal(x, y);
  totals.answers += equal.has_value() + less.has_value() + less_equal.has_value();
  for (const Point& p : world.points) {
    const i64 va = value_of(a, p);
    const i64 vb = value_of(b, p);
    const bool right =
        equal.value_or(va == vb) == (va == vb) && less.value_or(va < vb) == (va < vb) && less_equal.value_or(va <= vb) == (va <= vb);
    REQUIRE_MESSAGE(right, "seed ", test_seed(), ": ", world.text, " facts ", cat(world.facts.print()), ": ", text_of(a), " against ",
                    text_of(b), " at ", cat(p));
  }
}

TEST_CASE("answers are right at every point where the facts hold") {
  RandomTrees random(test_seed() + 4, kSymbols);
  MESSAGE("seed ", test_seed());
  Totals totals;
  for (int i = 0; i < 150; ++i) {
    const World world(random);
    if (!world.usable) continue;
    for (int k = 0; k < 12; ++k) {
      const TreePointer a = any_tree(random);
      const TreePointer b = random.below(3) == 0 ? any_tree(random) : random.tree(random.below(3));
      try {
        dim_of(*a);
        dim_of(*b);
      } catch (const ArgumentError&) {
        continue;
      }
      check_expression(world, *a, dim_of(*a), totals);
      check_pair(world, *a, *b, totals);
    }
  }
  CHECK(totals.expressions > 500);
  CHECK(totals.simpler > totals.expressions / 5);
  CHECK(totals.answers > totals.expressions / 3);
}

TEST_CASE("printed facts read back to the same facts") {
  RandomTrees random(test_seed() + 5, kSymbols);
  MESSAGE("seed ", test_seed());
  int read = 0;
  for (int i = 0; i < 400; ++i) {
    const World world(random);
    if (!world.usable) continue;
    Facts again;
    for (const std::string& line : world.facts.print()) again.parse_line(line);
    CHECK_MESSAGE(again == world.facts, world.text, " printed ", cat(world.facts.print()), " read ", cat(again.print()));
    ++read;
  }
  CHECK(read > 50);
}

}  // namespace
}  // namespace resilin
