// src/resilin/codegen/lower.cpp -- lower(): chooses the lowering of a region by the form of its nodes.
#include "resilin/codegen/lower.h"

#include "resilin/codegen/lower_rows.h"
#include "resilin/codegen/parameters.h"
#include "resilin/ir/op.h"

namespace resilin {

Lowered lower(const ir::Graph& region, const SizeClass& size_class) {
  RESILIN_ASSERT(!region.nodes().empty() && !region.outputs().empty(), "an empty region has nothing to lower");
  const ir::Node& last = region.nodes().back();
  Lowered out;
  out.nest.name = std::string(last.op->name);
  if (std::holds_alternative<ir::Scan>(last.op->lower)) {
    lower_scan(region, out);
  } else if (std::holds_alternative<ir::Update>(last.op->lower)) {
    lower_update(region, out);
  } else {
    lower_rows(region, size_class, out);
  }
  parameterize(out);
  out.nest.streaming = size_class.streaming && loop::has_streamed_store(out.nest);
  loop::verify(out.nest);
  return out;
}

}  // namespace resilin
