// src/resilin/dist/transport/fake.h -- Internal: ranks of one process that exchange bytes through memory, with faults on demand.
#pragma once

#include <cstdint>
#include <memory>

#include "resilin/dist/transport/transport.h"

namespace resilin::dist {

/// What connects the transports of one test. A seed above 0 makes it unruly: each progress hands over a part of what has come, chosen by the
/// seed; messages of one pair keep their order. The same calls in the same order see the same.
class FakeFabric {
 public:
  explicit FakeFabric(std::uint64_t seed = 0);

  /// A maker for one process of the test. `process` names it in the calls below.
  TransportMaker maker(int process);

  /// Nothing more comes from or to any transport of the process, as after SIGKILL. Its peers are told when `announced`, else never.
  void kill(int process, bool announced = true);
  /// Messages between the two vanish, in both directions, from now on; nobody is told.
  void cut(int process, int other);
  void mend(int process, int other);

  struct Shared;

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace resilin::dist
