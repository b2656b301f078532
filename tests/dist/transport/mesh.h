// tests/dist/transport/mesh.h -- Internal: several ranks in one process, each with a transport of its own, connected to each other.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "resilin/dist/transport/transport.h"

#include "tests/support/slowness.h"

namespace resilin::dist::testing {

/// Bytes that differ by place and seed.
std::vector<std::byte> pattern(std::size_t count, std::uint64_t seed);

/// A tag of point-to-point traffic.
inline Tag numbered(std::uint64_t number) { return {Tag::Traffic::PointToPoint, 0, number}; }

/// The most that a test waits for what must come.
inline constexpr std::chrono::seconds kPatience{20 * resilin::testing::kSlowness};

/// One rank and what it was told.
struct MeshRank {
  std::unique_ptr<Transport> transport;
  std::vector<std::pair<int, std::string>> notes;
  std::vector<std::pair<int, std::string>> losses;
};

/// All ranks of one generation, stepped by whoever calls `progress`, or each by a thread of its own.
class Mesh {
 public:
  Mesh(const TransportMaker& make, int ranks);

  int size() const { return static_cast<int>(ranks_.size()); }
  MeshRank& rank(int number) { return *ranks_[static_cast<std::size_t>(number)]; }
  Transport& operator[](int number) { return *rank(number).transport; }

  /// One progress of every rank that is there; true when one did something.
  bool progress();
  /// Progress until it holds, for as long as patience lasts; whether it holds.
  bool run_until(const std::function<bool()>& holds);
  bool finish(const Pending& pending) {
    return run_until([&] { return pending.is_done(); });
  }
  /// Progress until nothing has been done for a while.
  void settle();

  /// A message from one rank to another.
  void send(int from, int to, const Tag& tag, const std::vector<std::byte>& bytes, Pending& pending) {
    (*this)[from].send(to, tag, bytes, pending);
  }
  void receive(int at, int from, const Tag& tag, std::vector<std::byte>& bytes, Pending& pending) {
    (*this)[at].receive(from, tag, bytes, pending);
  }

 private:
  std::vector<std::unique_ptr<MeshRank>> ranks_;
};

/// Whether it holds within the time, asked again and again.
bool holds_within(std::chrono::milliseconds time, const std::function<bool()>& holds);

}  // namespace resilin::dist::testing
