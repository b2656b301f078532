// tests/support/ranks.h -- the ranks of a test: one thread each, over a fabric and a store in this process.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "resilin/dist/group/process_group.h"
#include "resilin/dist/store/store.h"
#include "resilin/dist/transport/fake.h"

namespace resilin::dist::test {

/// Groups of one job, whose processes are threads of this one.
class Ranks {
 public:
  /// `change` may change the options of each.
  explicit Ranks(int count, std::uint64_t seed = 0, const std::function<void(GroupOptions&)>& change = nullptr);

  int count() const { return static_cast<int>(groups_.size()); }
  ProcessGroup& operator[](int process) { return groups_[static_cast<std::size_t>(process)]; }
  /// One more process; gives back its number.
  int add();
  FakeFabric& fabric() { return fabric_; }
  const std::shared_ptr<Store>& store() const { return store_; }

  /// Runs the body of each process in a thread of its own and comes back when all have ended; throws what the first of them threw.
  void run(const std::vector<int>& processes, const std::function<void(int process, ProcessGroup& group)>& body);
  void run(const std::function<void(int process, ProcessGroup& group)>& body) { run(all(), body); }
  /// The listed processes become the ranks of the next generation, in this order.
  void reconfigure(const std::vector<int>& processes);
  std::vector<int> all() const;
  std::uint64_t next_uuid() { return ++last_uuid_; }

 private:
  FakeFabric fabric_;
  std::shared_ptr<Store> store_;
  std::function<void(GroupOptions&)> change_;
  std::vector<ProcessGroup> groups_;
  std::uint64_t last_uuid_ = 0;
};

/// What the call throws, or "nothing was thrown".
std::string message_of(const std::function<void()>& call);

}  // namespace resilin::dist::test
