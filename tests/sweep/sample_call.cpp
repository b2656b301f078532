// tests/sweep/sample_call.cpp -- the typical calls of an op, for tests that look at single ops.
#include "tests/sweep/sample_call.h"

#include <string>

#include <doctest/doctest.h>

#include "resilin/ops/registry.h"

namespace resilin::sweep {

std::vector<const ir::OpDef*> all_ops() {
  std::vector<const ir::OpDef*> ops;
  for (const OpTable& family : op_families()) ops.insert(ops.end(), family.begin(), family.end());
  return ops;
}

Call sample_call(std::string_view op) {
  const ir::OpDef* const found = find_op(op);
  REQUIRE_MESSAGE(found != nullptr, std::string(op), " is no op");
  std::optional<Call> call = make_call(cases_of(*found, Extent::Typical, 1).at(0));
  REQUIRE(call.has_value());
  return std::move(*call);
}

}  // namespace resilin::sweep
