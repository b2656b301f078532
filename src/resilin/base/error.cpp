// src/resilin/base/error.cpp -- the exception types of the engine.
#include "resilin/base/error.h"

#include "resilin/base/text.h"

namespace resilin {

Error& Error::context(const std::string& where) {
  message_ += "\n  ";
  message_ += where;
  return *this;
}

void fail_assertion(const char* condition, const char* file, int line, const std::string& detail) {
  throw InternalError(
      cat("internal: ", condition, " is false at ", file, ":", line, ": ", detail, "; this is a bug of Resilin, please report it"));
}

}  // namespace resilin
