// tests/dist/collective/schedule_test.cpp -- schedules of all ranks run together, in orders that look for what may go wrong.
#include "resilin/dist/collective/schedule.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

#include "tests/dist/collective/schedule_run.h"

namespace resilin::dist {
namespace {

using schedule_run::Bytes;
using schedule_run::Call;
using schedule_run::Result;
using simulation::Chance;

struct Pairing {
  CollectiveKind kind;
  Algorithm algorithm;
};
constexpr std::array kPairings = {
    Pairing{CollectiveKind::AllReduce, Algorithm::Direct},
    Pairing{CollectiveKind::AllReduce, Algorithm::Owner},
    Pairing{CollectiveKind::AllReduce, Algorithm::Ring},
    Pairing{CollectiveKind::AllReduce, Algorithm::HalvingDoubling},
    Pairing{CollectiveKind::AllReduce, Algorithm::Pull},
    Pairing{CollectiveKind::Broadcast, Algorithm::Tree},
    Pairing{CollectiveKind::Broadcast, Algorithm::Pull},
    Pairing{CollectiveKind::AllGatherSingle, Algorithm::Direct},
    Pairing{CollectiveKind::AllGatherSingle, Algorithm::Ring},
    Pairing{CollectiveKind::AllGatherSingle, Algorithm::Pull},
    Pairing{CollectiveKind::ReduceScatterSingle, Algorithm::Direct},
    Pairing{CollectiveKind::ReduceScatterSingle, Algorithm::Owner},
    Pairing{CollectiveKind::ReduceScatterSingle, Algorithm::Ring},
    Pairing{CollectiveKind::ReduceScatterSingle, Algorithm::Pull},
    Pairing{CollectiveKind::Barrier, Algorithm::Direct},
    Pairing{CollectiveKind::Barrier, Algorithm::Dissemination},
};
constexpr std::array kSizes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16};
constexpr std::array<std::uint64_t, 9> kElements = {0, 1, 2, 7, 8, 63, 64, 1000, 4099};

bool is_reduction(CollectiveKind kind) { return kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatterSingle; }

bool exists(const ScheduleKey& key) {
  const bool adds_on_the_way = is_reduction(key.kind) && (key.algorithm == Algorithm::Ring || key.algorithm == Algorithm::HalvingDoubling);
  if (adds_on_the_way && compute_dtype(key.dtype) != key.dtype) return false;
  return key.algorithm != Algorithm::HalvingDoubling || std::has_single_bit(static_cast<unsigned>(key.size));
}

std::vector<Schedule> schedules_of(const ScheduleKey& key) {
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < key.size; ++rank) schedules.push_back(make_schedule(key, rank));
  return schedules;
}

/// Small integers, so that all sums are exact.
double value_at(int rank, std::uint64_t element) { return static_cast<double>((static_cast<std::uint64_t>(rank) * 7 + element * 3) % 11); }

Bytes encode(DType dtype, const std::vector<double>& values) {
  Bytes bytes(values.size() * static_cast<std::size_t>(size_bytes(dtype)));
  visit_dtype(dtype, [&]<class T>(T) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T item = [&] {
        if constexpr (std::is_arithmetic_v<T>)
          return static_cast<T>(values[i]);
        else
          return T(static_cast<float>(values[i]));
      }();
      std::memcpy(&bytes[i * sizeof(T)], &item, sizeof item);
    }
  });
  return bytes;
}

std::vector<double> input_values(const ScheduleKey& key, int rank) {
  std::vector<double> values(schedule_run::input_bytes(key) / static_cast<std::uint64_t>(size_bytes(key.dtype)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_at(rank, i);
  return values;
}

std::vector<double> expected_values(const Call& call, int rank) {
  const ScheduleKey& key = call.key;
  std::vector<double> values(schedule_run::output_bytes(key) / static_cast<std::uint64_t>(size_bytes(key.dtype)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (key.kind == CollectiveKind::Broadcast) values[i] = value_at(key.root, i);
    if (key.kind == CollectiveKind::AllGatherSingle) values[i] = value_at(static_cast<int>(i / key.elements), i % key.elements);
    if (!is_reduction(key.kind)) continue;
    const std::uint64_t first = key.kind == CollectiveKind::ReduceScatterSingle ? static_cast<std::uint64_t>(rank) * key.elements : 0;
    for (int other = 0; other < key.size; ++other) values[i] += value_at(other, first + i);
    if (call.op == ReduceOp::Avg) values[i] /= key.size;
  }
  return values;
}

std::vector<Bytes> inputs_of(const ScheduleKey& key) {
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < key.size; ++rank) inputs.push_back(encode(key.dtype, input_values(key, rank)));
  return inputs;
}

std::string describe(const Call& call, std::uint64_t seed) {
  const ScheduleKey& key = call.key;
  return cat(enum_names(&key.kind)[static_cast<std::size_t>(key.kind)], " ",
             enum_names(&key.algorithm)[static_cast<std::size_t>(key.algorithm)], " of ", key.size, " ranks, root ", key.root, ", ",
             key.elements, " ", key.dtype, call.in_place ? " in place" : "", call.op == ReduceOp::Avg ? " avg" : "", ", seed ", seed);
}

/// Runs a call in one order and compares all that came out.
void check_call(const Call& call, std::uint64_t seed) {
  INFO(describe(call, seed));
  const Result result = schedule_run::run(call, schedules_of(call.key), inputs_of(call.key), seed);
  REQUIRE(result.violation == "");
  for (int rank = 0; rank < call.key.size; ++rank) {
    if (call.key.kind == CollectiveKind::Barrier) break;
    REQUIRE(result.outputs[static_cast<std::size_t>(rank)] == encode(call.key.dtype, expected_values(call, rank)));
  }
}

/// The words for memory that is used by two at a time, or taken away while it is used.
bool is_conflict(const std::string& violation) {
  return violation.find(" is used twice at a time") != std::string::npos || violation.find(" is in use") != std::string::npos ||
         violation.find(" the memory of absent rank") != std::string::npos;
}

/// The first order in which the checks find something; empty when they never do.
std::string find_violation(const Call& call, const std::vector<Schedule>& schedules) {
  const std::vector<Bytes> inputs = inputs_of(call.key);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Result result = schedule_run::run(call, schedules, inputs, seed);
    if (!result.violation.empty()) return result.violation;
  }
  return "";
}

Call small_call(CollectiveKind kind, Algorithm algorithm) {
  return {.key = {.kind = kind, .algorithm = algorithm, .dtype = DType::I64, .size = 4, .root = 1, .elements = 40},
          .op = ReduceOp::Sum,
          .in_place = true};
}

std::vector<Bytes> random_inputs(const ScheduleKey& key, Chance& chance) {
  std::vector<Bytes> inputs;
  for (int rank = 0; rank < key.size; ++rank) {
    std::vector<double> values = input_values(key, rank);
    for (double& value : values) {
      value = std::ldexp(static_cast<double>(chance.below(1 << 24)) - (1 << 23), static_cast<int>(chance.below(9)) - 22);
    }
    inputs.push_back(encode(key.dtype, values));
  }
  return inputs;
}

/// Eighths below 64: their sums are exact in f32 and take more bits than small floats have.
std::vector<std::vector<double>> random_eighths(const ScheduleKey& key, Chance& chance) {
  std::vector<std::vector<double>> values;
  for (int rank = 0; rank < key.size; ++rank) {
    values.push_back(input_values(key, rank));
    for (double& value : values.back()) value = static_cast<double>(chance.below(8)) * (chance.one_in(4) ? 8 : 0.125);
  }
  return values;
}

}  // namespace

TEST_CASE("every schedule gives exact results, whatever the order of events") {
  std::uint64_t seed = 0;
  for (const Pairing& pairing : kPairings) {
    for (const int size : kSizes) {
      for (const std::uint64_t elements : kElements) {
        for (const DType dtype : {DType::F32, DType::BF16, DType::I64, DType::U8}) {
          for (const bool in_place : {false, true}) {
            ++seed;
            const bool is_average = is_reduction(pairing.kind) && seed % 3 == 0;
            const Call call{.key = {.kind = pairing.kind,
                                    .algorithm = pairing.algorithm,
                                    .dtype = dtype,
                                    .size = size,
                                    .root = static_cast<int>(seed) % size,
                                    .elements = elements},
                            .op = is_average ? ReduceOp::Avg : ReduceOp::Sum,
                            .in_place = in_place};
            if (exists(call.key)) check_call(call, seed);
          }
        }
      }
    }
  }
}

TEST_CASE("many orders of events give the same results") {
  for (const Pairing& pairing : kPairings) {
    for (const int size : {2, 3, 4, 5, 8}) {
      for (const bool in_place : {false, true}) {
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
          const Call call{.key = {.kind = pairing.kind,
                                  .algorithm = pairing.algorithm,
                                  .dtype = DType::I64,
                                  .size = size,
                                  .root = size / 2,
                                  .elements = seed % 2 == 0 ? 13u : 3u},
                          .op = ReduceOp::Sum,
                          .in_place = in_place};
          if (exists(call.key)) check_call(call, seed);
        }
      }
    }
  }
}

TEST_CASE("large calls are spread over lanes") {
  for (const Pairing& pairing : kPairings) {
    if (pairing.kind == CollectiveKind::Barrier || pairing.algorithm == Algorithm::HalvingDoubling) continue;
    const bool is_per_rank = pairing.kind == CollectiveKind::AllGatherSingle || pairing.kind == CollectiveKind::ReduceScatterSingle;
    const Call call{.key = {.kind = pairing.kind,
                            .algorithm = pairing.algorithm,
                            .dtype = DType::F32,
                            .size = 3,
                            .root = 2,
                            .elements = is_per_rank ? 200'003u : 600'011u},
                    .op = ReduceOp::Sum,
                    .in_place = true};
    const bool has_lanes =
        pairing.algorithm == Algorithm::Ring || pairing.algorithm == Algorithm::Tree || pairing.algorithm == Algorithm::Owner;
    if (has_lanes) CHECK(make_schedule(call.key, 0).lanes.size() >= 3);
    for (std::uint64_t seed = 0; seed < 3; ++seed) check_call(call, seed);
  }
}

TEST_CASE("all ranks get the same bits of random floats, in rank order where one owner adds") {
  Chance chance(5);
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16, DType::F8E5M2}) {
    for (const Algorithm algorithm : {Algorithm::Direct, Algorithm::Owner, Algorithm::Pull, Algorithm::Ring, Algorithm::HalvingDoubling}) {
      for (const int size : {2, 3, 4, 7, 8, 16}) {
        const Call call{.key = {.kind = CollectiveKind::AllReduce, .algorithm = algorithm, .dtype = dtype, .size = size, .elements = 301}};
        if (!exists(call.key)) continue;
        const std::vector<Bytes> inputs = random_inputs(call.key, chance);
        const Result result = schedule_run::run(call, schedules_of(call.key), inputs, chance.next());
        INFO(describe(call, 0));
        REQUIRE(result.violation == "");
        for (const Bytes& output : result.outputs) CHECK(output == result.outputs[0]);
        if (algorithm == Algorithm::Ring || algorithm == Algorithm::HalvingDoubling || dtype != DType::F32) continue;
        for (std::size_t i = 0; i < call.key.elements; ++i) {
          float sum = 0, got = 0, item = 0;
          for (const Bytes& input : inputs) {
            std::memcpy(&item, &input[i * 4], 4);
            sum += item;
          }
          std::memcpy(&got, &result.outputs[0][i * 4], 4);
          CHECK(got == sum);
        }
      }
    }
  }
}

TEST_CASE("small floats are rounded once") {
  Chance chance(6);
  for (const DType dtype : {DType::BF16, DType::F16, DType::F8E4M3FN, DType::F8E5M2}) {
    for (const Pairing& pairing : kPairings) {
      if (!is_reduction(pairing.kind)) continue;
      const Call call{.key = {.kind = pairing.kind, .algorithm = pairing.algorithm, .dtype = dtype, .size = 7, .elements = 129}};
      if (!exists(call.key)) continue;
      const std::vector<std::vector<double>> values = random_eighths(call.key, chance);
      std::vector<Bytes> inputs;
      std::vector<double> sums(values[0].size());
      for (const std::vector<double>& one : values) {
        inputs.push_back(encode(dtype, one));
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += one[i];
      }
      const Result result = schedule_run::run(call, schedules_of(call.key), inputs, chance.next());
      REQUIRE(result.violation == "");
      const Bytes all = encode(dtype, sums);
      for (std::size_t rank = 0; rank < 7; ++rank) {
        const Bytes& output = result.outputs[rank];
        const std::size_t first = pairing.kind == CollectiveKind::AllReduce ? 0 : rank * output.size();
        CHECK(std::equal(output.begin(), output.end(), all.begin() + static_cast<std::ptrdiff_t>(first)));
      }
    }
  }
}

TEST_CASE("a schedule that does not wait for its sends is found out") {
  for (const Pairing& pairing : kPairings) {
    const Call call = small_call(pairing.kind, pairing.algorithm);
    std::vector<Schedule> schedules = schedules_of(call.key);
    bool settled = false;
    for (Schedule& schedule : schedules) {
      for (std::vector<Round>& lane : schedule.lanes) {
        for (Round& round : lane) {
          settled |= round.settle;
          round.settle = false;
        }
      }
    }
    INFO(describe(call, 0));
    const std::string violation = find_violation(call, schedules);
    CHECK(is_conflict(violation) == settled);
    CHECK(violation.empty() != settled);
  }
}

TEST_CASE("pulls that do not wait for each other are found out") {
  int left_out = 0;
  for (const Pairing& pairing : kPairings) {
    if (pairing.algorithm != Algorithm::Pull) continue;
    const Call call = small_call(pairing.kind, pairing.algorithm);
    const std::size_t rounds = make_schedule(call.key, 0).lanes[0].size();
    for (std::size_t round = 1; round < rounds; ++round) {
      std::vector<Schedule> schedules = schedules_of(call.key);
      for (Schedule& schedule : schedules) {
        // The first frames still come: only the waiting in between is left out.
        schedule.lanes.push_back({schedule.lanes[0][round]});
        schedule.lanes[1][0].combines.clear();
        schedule.lanes[0][round].sends.clear();
        schedule.lanes[0][round].receives.clear();
      }
      INFO(describe(call, 0), " without round ", round);
      CHECK(is_conflict(find_violation(call, schedules)));
      ++left_out;
    }
  }
  CHECK(left_out == 5);
}

TEST_CASE("who does not wait for all to begin is found out") {
  const Call call = small_call(CollectiveKind::Barrier, Algorithm::Dissemination);
  std::vector<Schedule> schedules = schedules_of(call.key);
  for (Schedule& schedule : schedules) schedule.lanes[0].pop_back();
  CHECK(find_violation(call, schedules).find(" ends before all have begun") != std::string::npos);
}

TEST_CASE("transfers that do not pair up are found out") {
  const Call call = small_call(CollectiveKind::AllReduce, Algorithm::Owner);
  std::vector<Schedule> schedules = schedules_of(call.key);
  schedules[2].lanes[0][0].sends[1].range.bytes -= 8;
  CHECK(find_violation(call, schedules).find(" expects 80 bytes of rank 2, which sends 72") != std::string::npos);
  schedules = schedules_of(call.key);
  schedules[2].lanes[0][1].sends.pop_back();
  CHECK(find_violation(call, schedules).find(" waits for ever") != std::string::npos);
  schedules = schedules_of(call.key);
  schedules[3].lanes[0][1].receives.pop_back();
  CHECK(find_violation(call, schedules) == "rank 0 sends 2 times to rank 3, which receives 1 times");
}

TEST_CASE("sends of a first round read Input, so that they can ride in the first frame") {
  for (const Pairing& pairing : kPairings) {
    for (int rank = 0; rank < 4; ++rank) {
      const Call call = small_call(pairing.kind, pairing.algorithm);
      for (const std::vector<Round>& lane : make_schedule(call.key, rank).lanes) {
        for (const Transfer& transfer : lane[0].sends) CHECK((transfer.range.bytes == 0 || transfer.range.memory == Memory::Input));
      }
    }
  }
}

TEST_CASE("what has no schedule is refused by name") {
  const auto refusal = [](const ScheduleKey& key) -> std::string {
    try {
      make_schedule(key, 0);
    } catch (const UnsupportedError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal({.kind = CollectiveKind::Broadcast, .algorithm = Algorithm::Ring}) ==
        "broadcast: there is no such algorithm: ring; choose_algorithm names one");
  CHECK(refusal({.kind = CollectiveKind::AllReduce, .algorithm = Algorithm::HalvingDoubling, .size = 6}) ==
        "all_reduce: halving_doubling of 6 ranks; their number must be a power of two");
  CHECK(refusal({.kind = CollectiveKind::ReduceScatterSingle, .algorithm = Algorithm::Ring, .dtype = DType::BF16, .size = 2}) ==
        "reduce_scatter_single: ring would round partial results of bf16; owner, direct and pull round once");
}

}  // namespace resilin::dist
