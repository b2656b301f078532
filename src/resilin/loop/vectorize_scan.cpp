// src/resilin/loop/vectorize_scan.cpp -- scans in the fixed order of nest.h: Hillis-Steele in blocks, a carry between them.
#include "resilin/loop/vectorize_emission.h"

namespace resilin::loop {

namespace {

class ScanEmitter {
 public:
  ScanEmitter(Emission& e, const Scan& scan)
      : e_(e), b_(e.builder), scan_(scan), is_vector_(scan.lanes > 1), state_lanes_(is_vector_ ? scan.lanes : e.axis.lanes) {
    RESILIN_ASSERT(!is_vector_ || e.axis.lanes == 1, cat("a scan in ", scan.lanes, " lanes inside of a vector loop"));
  }

  void emit() {
    const Value end = emit_extent(e_, scan_.extent);
    const Value branch = b_.begin_if(b_.compute(Operation::Gt, DType::Bool, end, b_.integer(0)), false);
    const Value main_end = b_.round_down(end, scan_.lanes);
    const std::vector<Value> carry = emit_blocks(b_.integer(0), main_end, initial_carry(), false);
    if (is_vector_) emit_blocks(main_end, end, carry, true);
    b_.end_if(branch);
  }

 private:
  std::vector<Value> initial_carry() {
    std::vector<GuardedRoot> roots;
    for (const Scalar& init : scan_.combiner.init) roots.push_back({init, {}});
    const StatementScope statement(e_, roots);
    std::vector<Value> carry;
    for (const Scalar& init : scan_.combiner.init) carry.push_back(b_.widen(evaluate(e_, init), is_vector_ ? 1 : state_lanes_));
    return carry;
  }

  std::vector<Value> emit_blocks(Value begin, Value end, const std::vector<Value>& carry, bool is_tail) {
    const Value loop = b_.begin_loop(begin, end, scan_.lanes, carry, true);
    std::vector<Value> before;
    for (std::size_t c = 0; c < carry.size(); ++c) before.push_back(b_.carried(loop, static_cast<int>(c)));
    const Value count = is_tail ? tail_count(e_, b_.sub(end, loop)) : kNone;
    std::vector<Value> after;
    {
      const FrameScope frame(e_);
      const AxisScope axis(e_, is_vector_ ? Axis{scan_.variable, scan_.lanes, loop, count} : e_.axis);
      e_.symbols[symbol_key(scan_.variable)] = loop;
      after = emit_iteration(loop, before);
    }
    return b_.end_loop(loop, after);
  }

  /// One block of lanes, or one element; gives back the carry for the next.
  std::vector<Value> emit_iteration(Value first, const std::vector<Value>& carry) {
    emit_block(e_, scan_.body);
    std::vector<Value> x = add_carry(first, carry, scan_lanes(elements()));
    for (std::size_t c = 0; c < x.size(); ++c) e_.locals[scan_.results[c]] = x[c];
    emit_block(e_, scan_.after);
    if (!is_vector_) return x;
    for (Value& v : x) v = b_.pure({.operation = Operation::ExtractLane, .type = b_.type(v), .a = v, .immediate = scan_.lanes - 1});
    return x;
  }

  std::vector<Value> elements() {
    std::vector<GuardedRoot> roots;
    for (const Scalar& element : scan_.combiner.element) roots.push_back({element, {}});
    const StatementScope statement(e_, roots);
    std::vector<Value> x;
    for (const Scalar& element : scan_.combiner.element) x.push_back(b_.widen(evaluate(e_, element), state_lanes_));
    return x;
  }

  std::vector<Value> scan_lanes(std::vector<Value> x) {
    if (!is_vector_) return x;
    const std::uint16_t lanes = static_cast<std::uint16_t>(state_lanes_);
    const Value lane = b_.pure({.operation = Operation::Iota, .type = DType::I32, .lanes = lanes});
    for (int distance = 1; distance < scan_.lanes; distance *= 2) {
      std::vector<Value> earlier;
      for (const Value v : x) {
        earlier.push_back(
            b_.pure({.operation = Operation::ShiftLanes, .type = b_.type(v), .lanes = lanes, .a = v, .b = v, .immediate = distance}));
      }
      const Value has_earlier =
          b_.compute(Operation::Ge, DType::Bool, lane, b_.constant(DType::I32, static_cast<std::uint64_t>(distance), state_lanes_));
      x = choose(has_earlier, combine(e_, scan_.combiner, earlier, x), x);
    }
    return x;
  }

  std::vector<Value> add_carry(Value first, const std::vector<Value>& carry, const std::vector<Value>& x) {
    if (e_.mutant == Mutant::ScanCarry) return x;  // MUTANT
    std::vector<Value> wide;
    for (const Value v : carry) wide.push_back(b_.widen(v, state_lanes_));
    const Value has_carry = b_.widen(b_.compute(Operation::Gt, DType::Bool, first, b_.integer(0)), state_lanes_);
    return choose(has_carry, combine(e_, scan_.combiner, wide, x), x);
  }

  std::vector<Value> choose(Value mask, const std::vector<Value>& yes, const std::vector<Value>& no) {
    std::vector<Value> chosen;
    for (std::size_t c = 0; c < yes.size(); ++c) chosen.push_back(b_.compute(Operation::Select, b_.type(yes[c]), mask, yes[c], no[c]));
    return chosen;
  }

  Emission& e_;
  Builder& b_;
  const Scan& scan_;
  const bool is_vector_;
  const int state_lanes_;
};

}  // namespace

void emit_scan(Emission& e, const Scan& scan) { ScanEmitter(e, scan).emit(); }

}  // namespace resilin::loop
