// src/resilin/codegen/axes.cpp -- Internal: the loop variables of a region: merging, splitting an index over several, loop construction.
#include "resilin/codegen/axes.h"

#include <set>
#include <utility>

#include "resilin/loop/rewrite.h"

namespace resilin {
namespace {

bool can_merge(const Axis& outer, const Axis& inner, std::span<const Dim> uses, const Facts& facts) {
  for (const Dim use : uses) {
    const std::optional<Affine> a = affine_in(use, outer.variable);
    const std::optional<Affine> b = affine_in(use, inner.variable);
    if (!a || !b || contains(a->coefficient, inner.variable) || contains(b->coefficient, outer.variable)) return false;
    if (!facts.proves_equal(a->coefficient, b->coefficient * inner.size)) return false;
  }
  return true;
}

void substitute_in(std::span<loop::Block* const> blocks, Symbol symbol, Dim with) {
  for (loop::Block* block : blocks) {
    loop::map_dims(*block, [&](Dim e) {
      return contains(e, symbol) ? substitute(e, [&](Symbol s) { return s == symbol ? with : Dim::symbol(s); }) : e;
    });
  }
}

struct CostVisitor {
  i64 inner;
  Dim total = 0;

  Dim times(Dim extent, const loop::Block& body, Dim extra) const {
    CostVisitor visitor{inner, extra};
    for (const loop::Statement& s : body) std::visit(visitor, s.value);
    return (loop::is_loop_invariant(extent) ? extent : Dim(inner)) * visitor.total;
  }
  static Dim operations(std::span<const loop::Scalar> scalars) {
    i64 count = 0;
    for (const loop::Scalar& s : scalars) count += loop::operation_count(s);
    return count;
  }
  Dim combiner(const loop::Combiner& c) const { return operations(c.element) + operations(c.combine) + Dim(2); }
  void operator()(const loop::Loop& s) { total += times(s.extent, s.body, 0); }
  void operator()(const loop::Let& s) { total += Dim(loop::operation_count(s.value) + 2); }
  void operator()(const loop::Store& s) { total += Dim(loop::operation_count(s.value) + 4); }
  void operator()(const loop::Check&) { total += Dim(1); }
  void operator()(const loop::Reduce& s) { total += times(product(s.extents), s.body, combiner(s.combiner)); }
  void operator()(const loop::Scan& s) { total += times(s.extent, s.body, combiner(s.combiner)) + times(s.extent, s.after, 0); }
  void operator()(const loop::TableLoop& s) { total += times(1, s.body, 0); }
};

}  // namespace

void assume_index(Facts& facts, Symbol variable, Dim size) {
  facts.set_range(variable, {0, Range::kHighest});
  if (!(size == 0)) facts.assume_less(Dim::symbol(variable), size);
}

void merge_axes(std::vector<Axis>& axes, std::span<loop::Block* const> blocks, const Facts& facts) {
  for (std::size_t a = 0; a + 1 < axes.size();) {
    std::vector<Dim> uses;
    std::set<std::uintptr_t> seen;
    for (const loop::Block* block : blocks) {
      loop::visit_dims(*block, [&](Dim e) {
        if (seen.insert(e.word()).second) uses.push_back(e);
      });
    }
    Axis& outer = axes[a];
    Axis& inner = axes[a + 1];
    if (!can_merge(outer, inner, uses, facts)) {
      ++a;
      continue;
    }
    substitute_in(blocks, outer.variable, 0);
    inner.size = outer.size * inner.size;
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(a));
    if (a > 0) --a;
  }
}

Dim product_of_sizes(std::span<const Axis> axes) {
  Dim total = 1;
  for (const Axis& axis : axes) total = total * axis.size;
  return total;
}

void split_index(loop::Block& block, std::span<const Axis> axes, Symbol linear) {
  Dim inner = 1;
  loop::Block* const blocks[] = {&block};
  for (std::size_t a = axes.size(); a-- > 0;) {
    const Dim quotient = floordiv(Dim::symbol(linear), inner);
    substitute_in(blocks, axes[a].variable, a == 0 ? quotient : mod(quotient, axes[a].size));
    inner = inner * axes[a].size;
  }
}

loop::Block wrap_loops(loop::Block body, std::span<const Axis> axes, loop::LoopKind innermost) {
  for (std::size_t a = axes.size(); a-- > 0;) {
    const loop::LoopKind kind = a + 1 == axes.size() ? innermost : loop::LoopKind::Serial;
    loop::Block outer;
    outer.push_back({loop::Loop{axes[a].variable, axes[a].size, kind, std::move(body)}});
    body = std::move(outer);
  }
  return body;
}

loop::Phase parallel_phase(loop::Block body, std::vector<Axis> axes, bool vectorize_last, Symbol linear) {
  loop::Phase phase;
  if (vectorize_last && axes.size() == 1) {
    phase.variable = axes[0].variable;
    phase.extent = axes[0].size;
    phase.vector = true;
  } else {
    if (vectorize_last && !axes.empty()) {
      body = wrap_loops(std::move(body), std::span<const Axis>(&axes.back(), 1), loop::LoopKind::Vector);
      axes.pop_back();
    }
    phase.variable = linear;
    phase.extent = product_of_sizes(axes);
    split_index(body, axes, linear);
  }
  phase.body = std::move(body);
  return phase;
}

Dim cost_of(const loop::Block& block, i64 inner) {
  CostVisitor visitor{inner, 1};
  for (const loop::Statement& s : block) std::visit(visitor, s.value);
  return visitor.total;
}

}  // namespace resilin
