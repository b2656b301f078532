// tests/dist/environment_test.cpp -- the executor's thread keeps the order of its tasks.
#include "resilin/dist/environment.h"

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

namespace resilin::dist {

TEST_CASE("tasks run one after the other, by time and then in the order of posting") {
  std::vector<int> order;
  std::promise<void> done;
  const std::unique_ptr<Executor> executor = make_thread_executor(machine_clock());
  executor->post([&] {
    executor->post_after(std::chrono::milliseconds(3), [&] {
      order.push_back(4);
      done.set_value();
    });
    executor->post_after(std::chrono::milliseconds(1), [&] { order.push_back(3); });
    executor->post([&] { order.push_back(2); });
    order.push_back(1);
  });
  done.get_future().wait();
  CHECK(order == std::vector<int>{1, 2, 3, 4});
}

TEST_CASE("an executor that ends drops what has not begun") {
  bool ran = false;
  {
    make_thread_executor(machine_clock())->post_after(std::chrono::hours(1), [&] { ran = true; });
  }
  CHECK_FALSE(ran);
}

TEST_CASE("the machine's clock goes on and its random numbers differ") {
  const std::chrono::nanoseconds before = machine_clock().now();
  CHECK(machine_clock().now() >= before);
  CHECK(machine_random().next() != machine_random().next());
}

TEST_CASE("variables of a scope are put back") {
  setenv("RESILIN_TEST_SCOPED", "before", 1);
  unsetenv("RESILIN_TEST_ABSENT");
  {
    const ScopedVariables scoped({{"RESILIN_TEST_SCOPED", "within"}, {"RESILIN_TEST_ABSENT", "here"}});
    CHECK(environment_variable("RESILIN_TEST_SCOPED") == "within");
    CHECK(environment_variable("RESILIN_TEST_ABSENT") == "here");
  }
  CHECK(environment_variable("RESILIN_TEST_SCOPED") == "before");
  CHECK_FALSE(environment_variable("RESILIN_TEST_ABSENT").has_value());
  unsetenv("RESILIN_TEST_SCOPED");
}

}  // namespace resilin::dist
