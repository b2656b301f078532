// tests/dist/collective/choose_test.cpp -- which algorithm serves which sizes, and that each choice can be made.
#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/dist/collective/schedule.h"

namespace resilin::dist {

TEST_CASE("a small all_reduce, all_gather, reduce_scatter and barrier is one exchange with each peer") {
  for (const CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGatherSingle, CollectiveKind::ReduceScatterSingle, CollectiveKind::Barrier}) {
    for (const int size : {2, 3, 8}) {
      const ScheduleKey key{.kind = kind,
                            .algorithm = choose_algorithm(kind, ReduceOp::Sum, DType::F32, size, 100, Reach::SameHost),
                            .dtype = DType::F32,
                            .size = size,
                            .elements = 100};
      const Schedule schedule = make_schedule(key, 1);
      REQUIRE(schedule.lanes.size() == 1);
      for (const Round& round : schedule.lanes[0]) {
        const std::size_t peers = &round == &schedule.lanes[0][0] ? static_cast<std::size_t>(size) - 1 : 0;
        CHECK(round.sends.size() == peers);
        CHECK(round.receives.size() == peers);
      }
    }
  }
}

TEST_CASE("the algorithm follows sizes, dtype and reach") {
  constexpr std::uint64_t kMib = 1 << 18;  // of f32
  const auto all_reduce = [](DType dtype, int size, std::uint64_t elements, Reach reach) {
    return choose_algorithm(CollectiveKind::AllReduce, ReduceOp::Sum, dtype, size, elements, reach);
  };
  CHECK(all_reduce(DType::F32, 2, 2048, Reach::Network) == Algorithm::Direct);
  CHECK(all_reduce(DType::F32, 2, 2049, Reach::Network) == Algorithm::HalvingDoubling);
  CHECK(all_reduce(DType::F32, 9, 1, Reach::Network) == Algorithm::Owner);
  CHECK(all_reduce(DType::F32, 16, 1, Reach::Network) == Algorithm::HalvingDoubling);
  CHECK(all_reduce(DType::F32, 17, 1, Reach::Network) == Algorithm::Ring);
  CHECK(all_reduce(DType::F32, 4, 16 * kMib, Reach::Network) == Algorithm::Ring);
  CHECK(all_reduce(DType::F32, 4, kMib / 2, Reach::Network) == Algorithm::HalvingDoubling);
  CHECK(all_reduce(DType::F32, 4, kMib / 2 + 4, Reach::Network) == Algorithm::Ring);
  CHECK(all_reduce(DType::F32, 3, 16 * kMib, Reach::Network) == Algorithm::Ring);
  CHECK(all_reduce(DType::BF16, 4, 16 * kMib, Reach::Network) == Algorithm::Owner);
  CHECK(all_reduce(DType::BF16, 64, 4000, Reach::Network) == Algorithm::Owner);
  CHECK(all_reduce(DType::F32, 4, kMib / 4, Reach::SameHost) == Algorithm::Pull);
  CHECK(all_reduce(DType::BF16, 4, kMib / 2, Reach::SameHost) == Algorithm::Pull);
  CHECK(all_reduce(DType::F32, 4, kMib / 4 - 1, Reach::SameHost) == Algorithm::HalvingDoubling);
  const auto choose = [](CollectiveKind kind, std::uint64_t elements, Reach reach) {
    return choose_algorithm(kind, ReduceOp::Sum, DType::F32, 4, elements, reach);
  };
  CHECK(choose(CollectiveKind::AllGatherSingle, 100, Reach::Network) == Algorithm::Direct);
  CHECK(choose(CollectiveKind::AllGatherSingle, kMib, Reach::Network) == Algorithm::Ring);
  CHECK(choose(CollectiveKind::AllGatherSingle, kMib / 16, Reach::SameHost) == Algorithm::Pull);
  CHECK(choose(CollectiveKind::ReduceScatterSingle, 100, Reach::Network) == Algorithm::Owner);
  CHECK(choose(CollectiveKind::ReduceScatterSingle, kMib, Reach::Network) == Algorithm::Ring);
  CHECK(choose(CollectiveKind::Broadcast, kMib, Reach::Network) == Algorithm::Tree);
  CHECK(choose(CollectiveKind::Broadcast, kMib, Reach::SameHost) == Algorithm::Pull);
  CHECK(choose(CollectiveKind::Barrier, 0, Reach::Network) == Algorithm::Direct);
}

TEST_CASE("every algorithm that is chosen has a schedule") {
  for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllGatherSingle, CollectiveKind::ReduceScatterSingle,
                                    CollectiveKind::Broadcast, CollectiveKind::Barrier}) {
    for (const DType dtype : {DType::F32, DType::BF16, DType::F8E4M3FN, DType::I64}) {
      for (int size = 1; size <= 70; ++size) {
        for (std::uint64_t elements = 0; elements < (1ull << 36); elements = elements * 7 + 1) {
          for (const Reach reach : {Reach::Network, Reach::SameHost}) {
            const Algorithm algorithm = choose_algorithm(kind, ReduceOp::Max, dtype, size, elements, reach);
            const ScheduleKey key{.kind = kind, .algorithm = algorithm, .dtype = dtype, .size = size, .elements = elements};
            CHECK_NOTHROW(make_schedule(key, size / 2));
            CHECK((algorithm != Algorithm::Pull || reach == Reach::SameHost));
          }
        }
      }
    }
  }
}

TEST_CASE("kinds without a schedule and reductions without a meaning are refused") {
  CHECK_THROWS_WITH_AS(choose_algorithm(CollectiveKind::AllToAll, ReduceOp::None, DType::F32, 2, 5, Reach::Network),
                       "all_to_all: it has no schedule; all_reduce, reduce_scatter_single, all_gather_single, broadcast and barrier have",
                       UnsupportedError);
  CHECK_THROWS_AS(choose_algorithm(CollectiveKind::AllReduce, ReduceOp::PremulSum, DType::F32, 2, 5, Reach::Network), UnsupportedError);
}

}  // namespace resilin::dist
