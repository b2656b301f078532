// src/resilin/codegen/parameters.h -- Internal: turns expressions over a region's symbols into the integer parameters of a nest.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "resilin/codegen/lower.h"

namespace resilin {

/// Replaces every largest subexpression over a region's symbols by one parameter, so that loops that differ only in how a size came about
/// (one axis, or two merged ones) are the same text. Parameters are numbered by first use.
class Parameters {
 public:
  Parameters(std::vector<Dim>& integers, std::span<const Dim> named_dims) : integers_(integers), named_dims_(named_dims) {}
  Dim parameterize(Dim e);

 private:
  Dim parameter(Dim e);
  Dim without_names(Dim e) const;
  Dim rebuild(Dim atom);
  std::vector<Dim>& integers_;
  std::span<const Dim> named_dims_;
  std::map<std::uintptr_t, Dim> known_;
  std::map<std::uintptr_t, Dim> done_;
};

/// Parameterises every Dim of the nest and fills lowered.integers, the costs and integer_count.
void parameterize(Lowered& lowered);

}  // namespace resilin
