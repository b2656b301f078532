// src/resilin/codegen/parameters.cpp -- Internal: turns expressions over a region's symbols into the integer parameters of a nest.
#include "resilin/codegen/parameters.h"

#include <utility>

#include "resilin/codegen/axes.h"
#include "resilin/loop/rewrite.h"

namespace resilin {
namespace {

// A term of a sum, split into the factor over the region's symbols and the factor over loop variables.
struct SplitTerm {
  Dim parameter = 1;
  Dim variable = 1;
};
SplitTerm split_term(Dim term) {
  SplitTerm split;
  const DimView v = view(term);
  const auto add = [&split](Dim atom) { (loop::is_loop_invariant(atom) ? split.parameter : split.variable) *= atom; };
  if (v.kind == DimKind::Product) {
    for (const Dim atom : v.arguments) add(atom);
  } else {
    add(term);
  }
  return split;
}

}  // namespace

Dim Parameters::parameter(Dim e) {
  if (e.is_constant()) return e;
  std::map<std::uintptr_t, Dim>::const_iterator found = known_.find(e.word());
  if (found == known_.end()) {
    found = known_.emplace(e.word(), Dim::symbol('s', static_cast<int>(integers_.size()))).first;
    integers_.push_back(without_names(e));
  }
  return found->second;
}

Dim Parameters::without_names(Dim e) const {
  return substitute(e, [&](Symbol s) {
    return s.index < Lowered::kFirstName ? Dim::symbol(s) : named_dims_[static_cast<std::size_t>(s.index - Lowered::kFirstName)];
  });
}

// A product of atoms that each hold a loop variable.
Dim Parameters::rebuild(Dim atom) {
  const DimView v = view(atom);
  switch (v.kind) {
    case DimKind::Symbol: return atom;
    case DimKind::Product: {
      Dim result = 1;
      for (const Dim part : v.arguments) result = result * rebuild(part);
      return result;
    }
    case DimKind::FloorDiv: return floordiv(parameterize(v.arguments[0]), parameterize(v.arguments[1]));
    case DimKind::Mod: return mod(parameterize(v.arguments[0]), parameterize(v.arguments[1]));
    case DimKind::Min: return min(parameterize(v.arguments[0]), parameterize(v.arguments[1]));
    case DimKind::Max: return max(parameterize(v.arguments[0]), parameterize(v.arguments[1]));
    default: return parameterize(atom);
  }
}

Dim Parameters::parameterize(Dim e) {
  if (loop::is_loop_invariant(e)) return parameter(e);
  const std::map<std::uintptr_t, Dim>::const_iterator found = done_.find(e.word());
  if (found != done_.end()) return found->second;

  const DimView v = view(e);
  std::vector<std::pair<Dim, Dim>> groups;  // (factor over loop variables, its coefficient)
  Dim rest = 0;
  const auto add = [&](i64 factor, Dim term) {
    const SplitTerm split = split_term(term);
    const Dim coefficient = split.parameter * Dim(factor);
    if (split.variable == 1) {
      rest += coefficient;
      return;
    }
    for (std::pair<Dim, Dim>& group : groups) {
      if (group.first == split.variable) {
        group.second += coefficient;
        return;
      }
    }
    groups.emplace_back(split.variable, coefficient);
  };
  if (v.kind == DimKind::Sum) {
    rest = v.constant;
    for (std::size_t i = 0; i < v.arguments.size(); ++i) add(v.factors[i], v.arguments[i]);
  } else {
    add(1, e);
  }
  Dim result = parameter(rest);
  for (const std::pair<Dim, Dim>& group : groups) result += parameter(group.second) * rebuild(group.first);
  done_.emplace(e.word(), result);
  return result;
}

void parameterize(Lowered& lowered) {
  Parameters parameters(lowered.integers, lowered.named_dims);
  const auto map = [&](Dim e) { return parameters.parameterize(e); };
  for (loop::Phase& phase : lowered.nest.phases) {
    phase.extent = map(phase.extent);
    loop::map_dims(phase.body, map);
  }
  for (loop::Buffer& buffer : lowered.nest.buffers) buffer.elements = map(buffer.elements);
  for (loop::Phase& phase : lowered.nest.phases) phase.cost = cost_of(phase.body, kChunkElements);
  lowered.nest.integer_count = static_cast<int>(lowered.integers.size());
}

}  // namespace resilin
