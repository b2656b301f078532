// tests/tensor/storage_test.cpp -- counting, versions and deleters of storages.
#include "resilin/tensor/storage.h"

#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/tensor/allocator.h"

namespace resilin {
namespace {

TEST_CASE("copies share the block and the last handle frees it") {
  const i64 before = allocator_stats().in_use_bytes;
  {
    const Storage a = Storage::allocate(100);
    CHECK(a.use_count() == 1);
    CHECK(allocator_stats().in_use_bytes == before + 100);
    const Storage b = a;
    CHECK(a.use_count() == 2);
    CHECK(b == a);
    CHECK(b.data() == a.data());
    Storage c = Storage::allocate(50);
    CHECK(!(c == a));
    c = b;
    CHECK(a.use_count() == 3);
    const Storage d = std::move(c);
    CHECK(!c.defined());  // NOLINT: a moved-from handle is undefined by contract
    CHECK(a.use_count() == 3);
    a.bump_version();
    CHECK(d.version() == 1);
  }
  CHECK(allocator_stats().in_use_bytes == before);
}

TEST_CASE("a recycled body starts anew") {
  {
    const Storage a = Storage::allocate(64);
    a.bump_version();
    a.bump_version();
  }
  const Storage b = Storage::allocate(64);
  CHECK(b.version() == 0);
  CHECK(b.use_count() == 1);
}

TEST_CASE("a storage of no bytes has a null pointer and a negative size is refused") {
  CHECK(Storage::allocate(0).data() == nullptr);
  CHECK(Storage::allocate(0).size_bytes() == 0);
  CHECK_THROWS_AS(Storage::allocate(-1), ArgumentError);
  CHECK_THROWS_AS(Storage::external(nullptr, -1, {}), ArgumentError);
}

TEST_CASE("the deleter of external memory runs once, with the last handle") {
  int runs = 0;
  char memory[16];
  {
    Storage a = Storage::external(memory, 16, [&] { ++runs; });
    CHECK(a.data() == memory);
    {
      const Storage b = a;
      a = Storage();
      CHECK(runs == 0);
    }
    CHECK(runs == 1);
  }
  CHECK(runs == 1);
  const Storage unowned = Storage::external(memory, 16, {});
  CHECK(unowned.size_bytes() == 16);
}

TEST_CASE("handles on one storage may come and go on many threads") {
  const i64 before = allocator_stats().in_use_bytes;
  {
    Storage shared = Storage::allocate(1000);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([copy = shared] {
        for (int i = 0; i < 10000; ++i) {
          const Storage mine = copy;
          const Storage again = mine;
        }
      });
    }
    shared = Storage();
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  }
  CHECK(allocator_stats().in_use_bytes == before);
}

}  // namespace
}  // namespace resilin
