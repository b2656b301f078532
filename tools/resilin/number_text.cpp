// tools/resilin/number_text.cpp -- numbers as people read them.
#include "tools/resilin/number_text.h"

#include <cmath>
#include <cstdio>

namespace resilin::tool {
namespace {

constexpr double kLargestFixed = 1e12;

/// Commas between groups of three of the digits that lie before `end`.
void group(std::string& text, std::size_t end) {
  const std::size_t begin = text[0] == '-' ? 1 : 0;
  for (std::size_t at = end; at > begin + 3; at -= 3) text.insert(at - 3, 1, ',');
}

}  // namespace

std::string grouped(i64 value) {
  std::string text = cat(value);
  group(text, text.size());
  return text;
}

std::string fixed(double value, int decimals) {
  if (std::isnan(value)) return "not a number";
  if (std::isinf(value)) return "infinite";
  char text[64];
  if (std::abs(value) >= kLargestFixed) {
    std::snprintf(text, sizeof text, "%.2g", value);
    return text;
  }
  std::snprintf(text, sizeof text, "%.*f", decimals, value == 0 ? 0.0 : value);
  std::string out = text;
  group(out, out.find('.') == std::string::npos ? out.size() : out.find('.'));
  return out;
}

}  // namespace resilin::tool
