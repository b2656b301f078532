// tests/support/nests.h -- hand-built nests, one for each construct and form of access, for the vectoriser and the code generator.
#pragma once

#include <string_view>
#include <vector>

#include "tests/support/nest_case.h"

namespace resilin::test {

/// A nest for data of size n; with `symbolic` sizes are parameters, else constants. `mutants` are the faults that must show for n = 127.
struct NamedNest {
  std::string_view name;
  NestCase (*build)(i64 n, bool symbolic);
  std::vector<loop::Mutant> mutants;
};
std::vector<NamedNest> pointwise_nests();
std::vector<NamedNest> row_nests();
/// All of them.
std::vector<NamedNest> all_nests();

}  // namespace resilin::test
