// tests/base/function_ref_test.cpp -- references to callables.
#include "resilin/base/function_ref.h"

#include <memory>

#include <doctest/doctest.h>

namespace resilin {
namespace {

int twice(int x) { return 2 * x; }

TEST_CASE("lambdas with state, const objects, functions and move-only arguments are called") {
  int calls = 0;
  const auto count = [&](int x) { return x + ++calls; };
  const FunctionRef<int(int)> counter = count;
  CHECK(counter(10) == 11);
  CHECK(counter(10) == 12);
  const auto negate = [](int x) { return -x; };
  const FunctionRef<int(int)> constant = negate;
  CHECK(constant(3) == -3);
  const FunctionRef<int(int)> function = twice;
  CHECK(function(4) == 8);
  const FunctionRef<int(int)> copy = function;
  CHECK(copy(5) == 10);
  const auto take = [](std::unique_ptr<int> p) { return *p; };
  CHECK(FunctionRef<int(std::unique_ptr<int>)>(take)(std::make_unique<int>(6)) == 6);
}

}  // namespace
}  // namespace resilin
