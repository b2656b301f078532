// tests/base/error_test.cpp -- the exception types and the assertion.
#include "resilin/base/error.h"

#include <string>

#include <doctest/doctest.h>

namespace resilin {
namespace {

TEST_CASE("an error keeps its message and gains context on its way up") {
  ShapeError error("matmul: inner sizes differ");
  error.context("in layer1").context("in step");
  CHECK(std::string(error.what()) == "matmul: inner sizes differ\n  in layer1\n  in step");
}

TEST_CASE("context added in a handler reaches the outer handler with the type kept") {
  std::string seen;
  try {
    try {
      throw IndexError("take: 5 is outside");
    } catch (Error& error) {
      error.context("in take");
      throw;
    }
  } catch (const IndexError& error) {
    seen = error.what();
  }
  CHECK(seen == "take: 5 is outside\n  in take");
}

TEST_CASE("an assertion passes silently and fails with condition, place and detail") {
  RESILIN_ASSERT(1 + 1 == 2, "fine");
  std::string seen;
  try {
    RESILIN_ASSERT(1 > 2, "the detail");
  } catch (const InternalError& error) {
    seen = error.what();
  }
  CHECK(seen.find("1 > 2 is false at ") != std::string::npos);
  CHECK(seen.find("error_test.cpp:") != std::string::npos);
  CHECK(seen.find("the detail") != std::string::npos);
  CHECK(seen.find("report") != std::string::npos);
}

}  // namespace
}  // namespace resilin
