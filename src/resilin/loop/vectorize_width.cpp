// src/resilin/loop/vectorize_width.cpp -- how many elements a body handles at once.
#include <algorithm>
#include <unordered_set>

#include "resilin/loop/vectorize_emission.h"

namespace resilin::loop {

namespace {

constexpr int kHeavyOperations = 40;
constexpr int kMaxLanes = 64;
constexpr int kMinLanes = 8;

/// What a body computes in each lane.
struct Work {
  int widest_bytes = 1;
  int operations = 0;
  int accumulators = 0;  // vectors that live through the loops of a reduction
};

class WorkCounter {
 public:
  void add(const Scalar& s) {
    if (!s.defined() || !seen_.insert(s.identity()).second) return;
    if (s.dtype() != DType::Bool) work.widest_bytes = std::max(work.widest_bytes, static_cast<int>(size_bytes(s.dtype())));
    if (!s.args().empty()) ++work.operations;
    for (const Scalar& arg : s.args()) add(arg);
  }
  void add(const Combiner& combiner) {
    for (const std::vector<Scalar>* part : {&combiner.init, &combiner.element, &combiner.combine}) {
      for (const Scalar& s : *part) add(s);
    }
  }
  void add(const Block& block) {
    for (const Statement& statement : block) std::visit(*this, statement.value);
  }

  void operator()(const Loop& s) { add(s.body); }
  void operator()(const Let& s) { add(s.value); }
  void operator()(const Store& s) {
    add(s.value);
    add(s.mask);
  }
  void operator()(const Check& s) { add(s.ok); }
  void operator()(const Reduce& s) {
    add(s.body);
    add(s.combiner);
    work.accumulators = std::max(work.accumulators, s.lanes * static_cast<int>(s.combiner.init.size()));
  }
  void operator()(const Scan& s) {
    add(s.body);
    add(s.combiner);
    add(s.after);
  }
  void operator()(const TableLoop& s) { add(s.body); }

  Work work;

 private:
  std::unordered_set<const void*> seen_;
};

int vectors_in_flight(const Work& work, const VectorTarget& target) {
  const int by_weight = work.operations > kHeavyOperations && target.registers < 32 ? 2 : 4;
  if (work.accumulators == 0) return by_weight;
  const int by_registers = std::max(1, target.registers / 2 / work.accumulators);
  return std::min(by_weight, static_cast<int>(std::bit_floor(static_cast<unsigned>(by_registers))));
}

}  // namespace

Width vector_width(const Block& body, const VectorTarget& target) {
  WorkCounter counter;
  counter.add(body);
  const int vector = target.vector_bytes / counter.work.widest_bytes;
  const int lanes = std::clamp(vectors_in_flight(counter.work, target) * vector, kMinLanes, kMaxLanes);
  return {lanes, std::min(vector, lanes)};
}

int piece_lanes(const Reduce& reduce, const VectorTarget& target) {
  WorkCounter counter;
  counter.add(reduce.body);
  counter.add(reduce.combiner);
  const int vectors = target.registers < 32 ? 2 : 4;
  return std::clamp(vectors * target.vector_bytes / counter.work.widest_bytes, kMinLanes, reduce.lanes);
}

}  // namespace resilin::loop
