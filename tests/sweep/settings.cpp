// tests/sweep/settings.cpp -- reads the environment variables of the sweep.
#include "tests/sweep/settings.h"

#include <algorithm>
#include <cstdlib>

namespace resilin::sweep {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

i64 number(const char* name, i64 otherwise) {
  const std::string text = variable(name);
  if (text.empty()) return otherwise;
  std::size_t used = 0;
  const i64 value = std::stoll(text, &used);
  if (used != text.size() || value < 1) throw ArgumentError(cat(name, ": not a positive number: \"", text, "\""));
  return value;
}

}  // namespace

bool Settings::takes(std::string_view op) const { return only.empty() || cat(",", only, ",").find(cat(",", op, ",")) != std::string::npos; }

Settings settings() {
  Settings s;
  s.seed = static_cast<std::uint64_t>(number("RESILIN_SWEEP_SEED", 1));
  s.subset = number("RESILIN_SWEEP_SUBSET", 1);
  s.only = variable("RESILIN_SWEEP_OP");
  s.part = number("RESILIN_SWEEP_PART", 0);
  s.answers = variable("RESILIN_SWEEP_ANSWERS");
  if (s.part > 2) throw ArgumentError(cat("RESILIN_SWEEP_PART: there are parts 1 and 2, not ", s.part));
  return s;
}

}  // namespace resilin::sweep
