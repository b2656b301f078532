// tests/sweep/settings.h -- what the environment says of the sweep: seed, subset, one op alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin::sweep {

struct Settings {
  std::uint64_t seed = 1;  // RESILIN_SWEEP_SEED
  i64 subset = 1;          // RESILIN_SWEEP_SUBSET: every n-th case
  std::string only;        // RESILIN_SWEEP_OP: ops of these names between commas; empty: all

  bool takes(std::string_view op) const;
};
Settings settings();

}  // namespace resilin::sweep
