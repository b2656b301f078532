// tests/dist/launch/processors_test.cpp -- processors shared out among ranks.
#include "resilin/dist/launch/processors.h"

#include <vector>

#include <doctest/doctest.h>

namespace resilin::dist {
namespace {

TEST_CASE("shares are disjoint, cover everything and differ by one at most") {
  for (int processors = 1; processors <= 20; ++processors) {
    std::vector<int> all;
    for (int i = 0; i < processors; ++i) all.push_back(3 * i);
    for (i64 ranks = 1; ranks <= processors; ++ranks) {
      std::vector<int> joined;
      for (const std::vector<int>& share : share_processors(all, ranks)) {
        CHECK(static_cast<i64>(share.size()) >= processors / ranks);
        CHECK(static_cast<i64>(share.size()) <= processors / ranks + 1);
        joined.insert(joined.end(), share.begin(), share.end());
      }
      CHECK(joined == all);
    }
  }
}

TEST_CASE("more ranks than processors are not pinned and have one thread each") {
  for (const std::vector<int>& share : share_processors({0, 1}, 3)) CHECK(share.empty());
  CHECK(threads_of_rank(2, 3) == 1);
  CHECK(threads_of_rank(8, 3) == 2);
  CHECK_FALSE(usable_processors().empty());
}

}  // namespace
}  // namespace resilin::dist
