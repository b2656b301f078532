// tests/base/counted_test.cpp -- handles on objects that carry their own count.
#include "resilin/base/counted.h"

#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace {

using resilin::Counted;
using resilin::make_ref;
using resilin::Ref;

struct Noted : Counted {
  explicit Noted(int& count) : alive(count) { ++alive; }
  virtual ~Noted() { --alive; }
  int& alive;
};
struct Derived final : Noted {
  using Noted::Noted;
};
struct Kept : Counted {
  static void destroy(Kept* kept) { kept->ended = true; }
  bool ended = false;
};

}  // namespace

TEST_CASE("an object lives as long as its last Ref") {
  int alive = 0;
  {
    Ref<Noted> first = make_ref<Derived>(alive);
    Ref<Noted> second = first;
    CHECK(first == second);
    first = nullptr;
    CHECK(alive == 1);
    const Ref<Noted> third = std::move(second);
    CHECK(second == nullptr);
    CHECK(third->alive == 1);
  }
  CHECK(alive == 0);
}

TEST_CASE("what is ending cannot be retained, and a class may end its objects itself") {
  Kept kept;
  CHECK(!kept.try_retain());
  {
    const Ref<Kept> only(&kept);
    CHECK(kept.try_retain());
    const Ref<Kept> counted = Ref<Kept>::adopt(&kept);
    CHECK(!kept.ended);
  }
  CHECK(kept.ended);
  CHECK(!kept.try_retain());
}

TEST_CASE("threads share an object") {
  int alive = 0;
  {
    const Ref<Noted> shared = make_ref<Noted>(alive);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([shared] {
        for (int i = 0; i < 10'000; ++i) {
          const Ref<Noted> copy = shared;
          if (copy->try_retain()) Ref<Noted>::adopt(copy.get());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}
