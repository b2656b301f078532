// tests/base/small_vector_test.cpp -- the vector with elements inside.
#include "resilin/base/small_vector.h"

#include <memory>
#include <string>

#include <doctest/doctest.h>

namespace resilin {
namespace {

using Names = SmallVector<std::string, 2>;

TEST_CASE("elements survive growth, copies and moves") {
  Names a{"one", "two"};
  const std::string* inside = a.data();
  a.push_back("three");
  CHECK(a.data() != inside);
  CHECK(a == Names{"one", "two", "three"});
  const Names b = a;
  Names c = std::move(a);
  CHECK(a.empty());
  CHECK(b == c);
  a = c;
  CHECK(a == b);
  Names small{"x"};
  a = std::move(small);
  CHECK(a == Names{"x"});
  const Names& same = c;
  c = same;
  CHECK(c == b);
}

TEST_CASE("an element may be pushed into its own vector") {
  Names a{"a long enough text to live on the heap", "b"};
  a.push_back(a[0]);
  CHECK(a[2] == a[0]);
}

TEST_CASE("insert, erase and resize keep the order") {
  SmallVector<int, 4> a{1, 2, 4};
  CHECK(*a.insert(a.begin() + 2, 3) == 3);
  CHECK(a == SmallVector<int, 4>{1, 2, 3, 4});
  CHECK(*a.erase(a.begin()) == 2);
  a.resize(5, 9);
  CHECK(a == SmallVector<int, 4>{2, 3, 4, 9, 9});
  a.resize(1);
  CHECK(a == SmallVector<int, 4>{2});
  a.pop_back();
  CHECK(a.empty());
}

TEST_CASE("elements that only move can be kept") {
  SmallVector<std::unique_ptr<int>, 1> a;
  for (int i = 0; i < 10; ++i) a.push_back(std::make_unique<int>(i));
  SmallVector<std::unique_ptr<int>, 1> b = std::move(a);
  CHECK(b.size() == 10);
  CHECK(*b[9] == 9);
}

}  // namespace
}  // namespace resilin
