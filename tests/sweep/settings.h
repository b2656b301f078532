// tests/sweep/settings.h -- what the environment says of the sweep: seed, subset, some ops alone or half of them, a file of answers.
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
  i64 part = 0;            // RESILIN_SWEEP_PART: the first or the second half of the ops (1 or 2); 0: all
  std::string answers;     // RESILIN_SWEEP_ANSWERS: the file of answers to write or to compare with

  bool takes(std::string_view op) const;
};
Settings settings();

}  // namespace resilin::sweep
