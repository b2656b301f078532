// tests/sweep/attempt.h -- a call of the engine with what came of it: outputs or a typed error.
#pragma once

#include <optional>
#include <string>
#include <typeinfo>

#include "resilin/runtime/executable.h"

#include "tests/sweep/report.h"

namespace resilin::sweep {

struct Attempt {
  Outputs outputs;
  const std::type_info* error = nullptr;
  std::string message;

  /// "gave a result" or the error's class and words.
  std::string text() const;
};

/// "IndexError" of resilin::IndexError.
std::string class_name(const std::type_info& type);

template <class Body>
Attempt attempt(const Body& body) {
  Attempt result;
  try {
    result.outputs = body();
  } catch (const std::exception& error) {
    result.error = &typeid(error);
    result.message = error.what();
  }
  return result;
}

/// Passes when both threw the same type or gave the same bits; fails with `names` of the two otherwise.
void compare_attempts(Report& report, std::string_view check, const Attempt& a, const Attempt& b);

}  // namespace resilin::sweep
