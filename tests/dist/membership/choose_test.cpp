// tests/dist/membership/choose_test.cpp -- who is dropped and who is listed next.
#include "resilin/dist/membership/choose.h"

#include <set>
#include <vector>

#include <doctest/doctest.h>

namespace resilin::dist {
namespace {

Current three() { return {.generation = 5, .members = {1, 2, 3}, .blobs = {}}; }

}  // namespace

TEST_CASE("the fewest are dropped, and of equal ones the joiner or the youngest") {
  CHECK(fewest_to_drop({}, {}).empty());
  CHECK(fewest_to_drop({{1, 2}, {1, 3}}, {1, 2, 3}) == std::set<std::uint64_t>{1});
  CHECK(fewest_to_drop({{1, 2}}, {1, 2}) == std::set<std::uint64_t>{2});
  CHECK(fewest_to_drop({{4, 9}}, {9}) == std::set<std::uint64_t>{4});
}

TEST_CASE("a list keeps the order of base, then joiners by age, and is proposed only for a reason") {
  CHECK(choose_handles({.current = three()}).empty());
  CHECK(choose_handles({.current = three(), .joiners = {9, 7, 2}}) == Handles{{1, 5}, {2, 5}, {3, 5}, {7, 0}, {9, 0}});
  CHECK(choose_handles({.current = three(), .suspects = {2}}) == Handles{{1, 5}, {3, 5}});
  CHECK(choose_handles({.current = three(), .is_revoked = true}) == Handles{{1, 5}, {2, 5}, {3, 5}});
  CHECK(choose_handles({.current = three(), .joiners = {4}, .suspects = {1, 2, 3}}).empty());
  CHECK(choose_handles({.current = {}, .joiners = {1, 2}, .first_size = 3}).empty());
  CHECK(choose_handles({.current = {}, .joiners = {1, 2, 3}, .first_size = 3}) == Handles{{1, 0}, {2, 0}, {3, 0}});
}

TEST_CASE("a list that failed is not proposed again: who was to blame is left out, else the youngest") {
  const Handles all = {{1, 5}, {2, 5}, {3, 5}};
  Situation situation{.current = three(), .is_revoked = true, .plan = {.uuid = 8, .handles = all}};
  situation.ended = Attempt{.verdict = Verdict::Abort, .uuid = 8, .base = 5, .handles = all, .culprits = {2}};
  CHECK(choose_handles(situation) == Handles{{1, 5}, {3, 5}});
  situation.ended->culprits = {};
  CHECK(choose_handles(situation) == Handles{{1, 5}, {2, 5}});
  situation.broken = {{1, 2}, {2, 3}};
  CHECK(choose_handles(situation) == Handles{{1, 5}, {3, 5}});
}

}  // namespace resilin::dist
