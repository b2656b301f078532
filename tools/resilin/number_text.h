// tools/resilin/number_text.h -- numbers as people read them.
#pragma once

#include <string>

#include "resilin/base/text.h"

namespace resilin::tool {

/// "38,400".
std::string grouped(i64 value);
/// With this many decimals and groups of thousands; in powers of ten from 1e12 on; "not a number" and "infinite" for what is none.
std::string fixed(double value, int decimals);

}  // namespace resilin::tool
