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
  return {static_cast<std::uint64_t>(number("RESILIN_SWEEP_SEED", 1)), number("RESILIN_SWEEP_SUBSET", 1), variable("RESILIN_SWEEP_OP"),
          variable("RESILIN_SWEEP_ANSWERS")};
}

}  // namespace resilin::sweep
