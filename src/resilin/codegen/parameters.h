// src/resilin/codegen/parameters.h -- Internal: turns expressions over a region's symbols into the integer parameters of a nest.
#pragma once

#include <map>
#include <vector>

#include "resilin/codegen/lower.h"

namespace resilin {

/// Replaces every largest subexpression over a region's symbols by one parameter, so that loops that differ only in how a size came about
/// (one axis, or two merged ones) are the same text. Parameters are numbered by first use.
class Parameters {
 public:
  explicit Parameters(std::vector<Dim>& integers) : integers_(integers) {}
  Dim parameterize(Dim e);

 private:
  Dim parameter(Dim e);
  Dim rebuild(Dim atom);
  std::vector<Dim>& integers_;
  std::map<std::uintptr_t, Dim> known_;
  std::map<std::uintptr_t, Dim> done_;
};

/// Parameterises every Dim of the nest and fills lowered.integers, the costs and integer_count.
void parameterize(Lowered& lowered);

}  // namespace resilin
