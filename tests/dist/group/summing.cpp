// tests/dist/group/summing.cpp -- a rank that sums until it is told to stop, and writes down how it goes.
#include "tests/dist/group/summing.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <utility>

#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/group/init.h"
#include "resilin/dist/group/process_group.h"
#include "resilin/dist/launch/rank_info.h"
#include "resilin/dist/membership/records.h"

namespace resilin::dist {
namespace {

using launch::now_ms;
using std::chrono::milliseconds;

class SummingRank {
 public:
  SummingRank(ProcessGroup group, std::string folder, milliseconds deadline, bool counts_keys)
      : group_(std::move(group)),
        folder_(std::move(folder)),
        deadline_(deadline),
        counts_keys_(counts_keys),
        instance_(parse_handle(group_.reconfigure_handle()).instance) {}

  void run() {
    std::uint64_t generation = group_.generation();
    while (access((folder_ + "/stop").c_str(), F_OK) != 0) {
      try {
        sum_in(generation);
      } catch (const EvictedError& error) {
        end(error, 1);
      } catch (const DistError& error) {
        note("failed", generation, group_.size());
        std::fprintf(stderr, "%s\n", error.what());
        generation = next_generation(generation);
      }
    }
  }

 private:
  /// Sums of sizes and values that all members can tell from the generation and the number, until something fails or the job ends.
  void sum_in(std::uint64_t generation) {
    for (std::uint64_t number = 0; access((folder_ + "/stop").c_str(), F_OK) != 0; ++number) {
      std::mt19937_64 random(generation * 1000 + number);
      const i64 count = number == 0 ? 256 : static_cast<i64>(std::uint64_t{1} << (random() % 20));
      const Tensor x = Tensor::allocate(Shape{count}, DType::F32);
      float* data = static_cast<float*>(x.data());
      const int rank = group_.rank(), size = group_.size();
      for (i64 i = 0; i < count; ++i)
        data[i] = static_cast<float>((static_cast<std::uint64_t>(i) + number) % 100 + static_cast<std::uint64_t>(rank));
      const Work work = group_.all_reduce(x, ReduceOp::Sum, deadline_);
      work.wait();
      const std::uint64_t ranks = static_cast<std::uint64_t>(size);
      for (i64 i = 0; i < count; ++i) {
        const std::uint64_t expected = ranks * ((static_cast<std::uint64_t>(i) + number) % 100) + ranks * (ranks - 1) / 2;
        if (data[i] != static_cast<float>(expected))
          return note(cat("wrong:", number, ":", i, ":", data[i], ":", expected), generation, size);
      }
      if (number == 0) note("sum", generation, size);
      if (counts_keys_ && number == 8 && rank == 0) note(cat("keys:", group_.store()->num_keys()), generation, size);
      if (number % 64 == 63) note("on", generation, size);
    }
  }

  std::uint64_t next_generation(std::uint64_t generation) {
    try {
      return group_.await_generation(generation, milliseconds(30'000)).generation;
    } catch (const EvictedError& error) {
      end(error, 1);
    } catch (const StoreError& error) {
      note("store-lost", generation, group_.size());
      end(error, kExitStoreLost);
    }
  }

  [[noreturn]] static void end(const DistError& error, int code) {
    std::fprintf(stderr, "%s\n", error.what());
    _exit(code);
  }

  void note(const std::string& what, std::uint64_t generation, int size) const {
    const std::string line = cat(what, " ", instance_, " ", generation, " ", size, " ", now_ms(), " ", getpid(), "\n");
    std::ofstream(folder_ + "/notes", std::ios::app) << line << std::flush;
  }

  ProcessGroup group_;
  const std::string folder_;
  const milliseconds deadline_;
  const bool counts_keys_;
  const std::uint64_t instance_;
};

/// Of RESILIN_TEST_RANK="deadline=MS,grace=MS"; with "keys" the store is asked how many it has.
milliseconds number_of(const std::string& mode, const std::string& name, milliseconds otherwise) {
  const std::size_t at = mode.find(name + "=");
  return at == std::string::npos ? otherwise : milliseconds(std::atoi(mode.c_str() + at + name.size() + 1));
}

TEST_CASE("a rank that sums" * doctest::skip()) {
  alarm(900);
  const std::string mode = std::getenv("RESILIN_TEST_RANK");
  ProcessGroup group =
      init_process_group({.membership = Membership::Lineage, .store_grace = number_of(mode, "grace", milliseconds(60'000))});
  SummingRank(group, std::getenv("OUT"), number_of(mode, "deadline", milliseconds(30'000)), mode.find("keys") != std::string::npos).run();
  group.destroy();
}

}  // namespace
}  // namespace resilin::dist
