// tests/dist/group/farewell_test.cpp -- ranks that destroy their group right after the last operation cut off nothing that others still need.
#include <chrono>
#include <stdexcept>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/transport/ucx.h"
#include "resilin/tensor/tensor.h"

#include "tests/support/ranks.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;
using test::Ranks;

constexpr i64 kElements = 2 << 20;  // 8 MiB

Tensor numbered(i64 first) {
  const Tensor x = Tensor::allocate(Shape{kElements}, DType::F32);
  for (i64 i = 0; i < kElements; ++i) static_cast<float*>(x.data())[i] = static_cast<float>((first + i) % 1000);
  return x;
}

/// Over TCP, where bytes that a sender is done with are still on their way.
Ranks over_tcp(int count) {
  return Ranks(count, 0, [](GroupOptions& options) {
    options.transport = ucx_transport({.shared_memory = false});
    options.shares_memory = false;
  });
}

void sum_and_destroy(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    Ranks ranks = over_tcp(3);
    ranks.reconfigure(ranks.all());
    ranks.run([&](int, ProcessGroup& group) {
      const Tensor x = numbered(round);
      group.all_reduce(x, ReduceOp::Sum, milliseconds(20'000)).wait();
      group.destroy();
      if (static_cast<float*>(x.data())[kElements - 1] != static_cast<float>(3 * ((round + kElements - 1) % 1000))) {
        throw std::runtime_error("a sum is wrong");
      }
    });
  }
}

/// The receiver comes late, and reads the rest when the sender has gone.
void send_and_destroy(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    Ranks ranks = over_tcp(2);
    ranks.reconfigure(ranks.all());
    ranks.run([&](int process, ProcessGroup& group) {
      const Tensor x = numbered(process == 0 ? round : 0);
      if (process == 0) {
        group.send(x, 1, 0, milliseconds(20'000)).wait();
        return group.destroy();
      }
      group.recv(x, 0, 0, milliseconds(20'000)).wait();
      for (i64 i = 0; i < kElements; ++i) {
        if (static_cast<float*>(x.data())[i] != static_cast<float>((round + i) % 1000)) throw std::runtime_error(cat("element ", i));
      }
    });
  }
}

TEST_CASE("ranks that sum 8 MiB over TCP and destroy their group at once all get the sum") { sum_and_destroy(5); }
TEST_CASE("who sends 8 MiB over TCP and destroys its group at once has sent all of it") { send_and_destroy(20); }

TEST_CASE("soak: 200 sums and 200 messages of 8 MiB over TCP, each the last of its group" * doctest::test_suite("soak") * doctest::skip()) {
  sum_and_destroy(200);
  send_and_destroy(200);
}

TEST_CASE("who destroys its group does not wait for a rank that says nothing any more, and leaves the others' generation whole") {
  Ranks ranks(3);
  ranks.reconfigure(ranks.all());
  ranks[0].destroy();
  const Tensor x = Tensor::allocate(Shape{4}, DType::F32), y = Tensor::allocate(Shape{4}, DType::F32);
  const Work sent = ranks[1].send(x, 2), received = ranks[2].recv(y, 1);
  sent.wait(milliseconds(10'000));
  received.wait(milliseconds(10'000));
  ranks.fabric().kill(2);
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  ranks[1].destroy();
  CHECK(std::chrono::steady_clock::now() - begin < milliseconds(20'000));
}

TEST_CASE("who leaves while the others do nothing comes back at once") {
  for (const bool over_ucx : {false, true}) {
    CAPTURE(over_ucx);
    Ranks ranks(3, 0, [&](GroupOptions& options) {
      if (over_ucx) options.transport = ucx_transport({});
    });
    ranks.reconfigure(ranks.all());
    for (int process = 0; process < 3; ++process) {
      CAPTURE(process);
      const auto begin = std::chrono::steady_clock::now();
      ranks[process].destroy();
      CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(1000));  // far below the longest farewell
    }
  }
}

}  // namespace
}  // namespace resilin::dist
