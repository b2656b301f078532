// src/resilin/loop/vectorize_reduce.cpp -- reductions in the fixed order of nest.h: pieces of lanes, a main loop, a tail, a tree.
//
// The `lanes` virtual lanes are cut into pieces. Along the vector axis a piece is a vector of consecutive elements. Inside of a vector loop
// (and in scalar code) a piece is one element of the reduced axis, as wide as the surrounding vectors. The tail handles less than `lanes`
// elements. It runs through the pieces once, in a loop whose carried values rotate, so that its body is there only once: after as many
// iterations as there are pieces each is back in its place.
#include <algorithm>

#include "resilin/loop/vectorize_emission.h"

namespace resilin::loop {

namespace {

class ReduceEmitter {
 public:
  ReduceEmitter(Emission& e, const Reduce& reduce)
      : e_(e),
        b_(e.builder),
        reduce_(reduce),
        components_(reduce.combiner.init.size()),
        is_vector_(e.axis.lanes == 1 && reduce.lanes >= 8),
        piece_lanes_(is_vector_ ? loop::piece_lanes(reduce, e.target) : 1),
        pieces_(static_cast<std::size_t>(reduce.lanes / piece_lanes_)),
        state_lanes_(is_vector_ ? piece_lanes_ : e.axis.lanes) {
    RESILIN_ASSERT(pieces_ <= 8, cat("a reduction in ", reduce.lanes, " lanes inside of a vector loop"));
  }

  void emit() {
    const std::vector<Value> states = emit_axis(0, initial_states());
    const std::vector<Value> result = combine_tree(states);
    for (std::size_t c = 0; c < components_; ++c) e_.locals[reduce_.results[c]] = result[c];
  }

 private:
  /// All components of all pieces, piece by piece.
  std::vector<Value> initial_states() {
    std::vector<GuardedRoot> roots;
    for (const Scalar& init : reduce_.combiner.init) roots.push_back({init, {}});
    const StatementScope statement(e_, roots);
    std::vector<Value> states;
    for (std::size_t p = 0; p < pieces_; ++p) {
      for (const Scalar& init : reduce_.combiner.init) {
        Value value = evaluate(e_, init);
        if (e_.mutant == Mutant::ReduceInit) value = wrong_init(value);  // MUTANT
        states.push_back(b_.widen(value, state_lanes_));
      }
    }
    return states;
  }

  /// NaN, or all bits the other way round: no combine forgets it.
  Value wrong_init(Value init) {
    const DType type = b_.type(init);
    if (type == DType::F32) return b_.constant(type, 0x7fc00000, b_.lanes(init));
    if (type == DType::F64) return b_.constant(type, 0x7ff8000000000000, b_.lanes(init));
    return b_.compute(Operation::Not, type, init);
  }

  std::vector<Value> emit_axis(std::size_t axis, const std::vector<Value>& states) {
    const Value end = emit_extent(e_, reduce_.extents[axis]);
    if (axis + 1 == reduce_.variables.size()) return emit_last_axis(end, states);
    const Value loop = b_.begin_loop(b_.integer(0), end, 1, states, false);
    e_.symbols[symbol_key(reduce_.variables[axis])] = loop;
    std::vector<Value> next;
    {
      const FrameScope frame(e_);
      next = emit_axis(axis + 1, carried(loop, states.size()));
    }
    return b_.end_loop(loop, next);
  }

  std::vector<Value> emit_last_axis(Value end, std::vector<Value> states) {
    const Value main_end = b_.round_down(end, reduce_.lanes);
    if (b_.known(main_end) != 0) states = emit_main(main_end, states);
    if (b_.known(end) && b_.known(end) == b_.known(main_end)) return states;
    return reduce_.lanes == 1 ? states : emit_tail(main_end, b_.sub(end, main_end), states);
  }

  std::vector<Value> emit_main(Value end, const std::vector<Value>& states) {
    const Value loop = b_.begin_loop(b_.integer(0), end, reduce_.lanes, states, false);
    const std::vector<Value> before = carried(loop, states.size());
    std::vector<Value> next;
    for (std::size_t p = 0; p < pieces_; ++p) {
      const Value first = b_.add(loop, b_.integer(static_cast<i64>(p) * piece_lanes_));
      const std::vector<Value> piece = emit_piece(first, kNone, piece_of(before, p));
      next.insert(next.end(), piece.begin(), piece.end());
    }
    return b_.end_loop(loop, next);
  }

  std::vector<Value> emit_tail(Value first, Value remaining, const std::vector<Value>& states) {
    if (pieces_ == 1) return emit_tail_piece(first, remaining, states);
    const Value has_tail = b_.compute(Operation::Gt, DType::Bool, remaining, b_.integer(0));
    const Value end =
        b_.compute(Operation::Select, DType::I64, has_tail, b_.integer(static_cast<i64>(pieces_) * piece_lanes_), b_.integer(0));
    const Value loop = b_.begin_loop(b_.integer(0), end, piece_lanes_, states, false);
    std::vector<Value> rotating = carried(loop, states.size());
    const std::vector<Value> piece = emit_tail_piece(b_.add(first, loop), b_.sub(remaining, loop), piece_of(rotating, 0));
    std::copy(piece.begin(), piece.end(), rotating.begin());
    std::rotate(rotating.begin(), rotating.begin() + static_cast<std::ptrdiff_t>(components_), rotating.end());
    return b_.end_loop(loop, rotating);
  }

  /// Runs once when any element remains, else not at all: an If whose results leave it.
  std::vector<Value> emit_tail_piece(Value first, Value remaining, const std::vector<Value>& state) {
    const Value times = b_.maximum(b_.minimum(remaining, b_.integer(1)), b_.integer(0));
    const Value once = b_.begin_loop(b_.integer(0), times, 1, state, false);
    const Value count = piece_lanes_ == 1 ? kNone : tail_count(e_, b_.minimum(remaining, b_.integer(piece_lanes_)));
    return b_.end_loop(once, emit_piece(first, count, carried(once, state.size())));
  }

  /// The state of one piece after its elements from `first` on.
  std::vector<Value> emit_piece(Value first, Value count, const std::vector<Value>& state) {
    const FrameScope frame(e_);
    const Symbol variable = reduce_.variables.back();
    const AxisScope axis(e_, is_vector_ ? Axis{variable, piece_lanes_, first, count} : e_.axis);
    e_.symbols[symbol_key(variable)] = first;
    emit_block(e_, reduce_.body);
    std::vector<GuardedRoot> roots;
    for (const Scalar& element : reduce_.combiner.element) roots.push_back({element, {}});
    const StatementScope statement(e_, roots);
    std::vector<Value> elements;
    for (const Scalar& element : reduce_.combiner.element) elements.push_back(b_.widen(evaluate(e_, element), state_lanes_));
    std::vector<Value> next = combine(e_, reduce_.combiner, state, elements);
    if (!is_vector_ || count == kNone) return next;
    const Value mask = active_lanes(e_);
    for (std::size_t c = 0; c < components_; ++c) next[c] = b_.compute(Operation::Select, b_.type(next[c]), mask, next[c], state[c]);
    return next;
  }

  /// Lane l with lane l + lanes/2, lanes/4, ... 1.
  std::vector<Value> combine_tree(std::vector<Value> states) {
    for (std::size_t pieces = pieces_; pieces > 1; pieces /= 2) {
      std::vector<Value> halved;
      for (std::size_t p = 0; p < pieces / 2; ++p) {
        const std::vector<Value> pair = combine_pair(piece_of(states, p), piece_of(states, p + pieces / 2));
        halved.insert(halved.end(), pair.begin(), pair.end());
      }
      states = std::move(halved);
    }
    for (int lanes = is_vector_ ? piece_lanes_ : 1; lanes > 1; lanes /= 2) {
      std::vector<Value> halves[2];
      for (const int half : {0, 1}) {
        for (const Value state : states) halves[half].push_back(half_of(state, half));
      }
      states = combine_pair(halves[0], halves[1]);
    }
    return states;
  }

  std::vector<Value> combine_pair(const std::vector<Value>& left, const std::vector<Value>& right) {
    return combine(e_, reduce_.combiner, e_.mutant == Mutant::ReduceTree ? right : left, right);  // MUTANT
  }

  Value half_of(Value v, int half) {
    const bool is_pair = b_.lanes(v) == 2;
    return b_.pure({.operation = is_pair ? Operation::ExtractLane : Operation::Half,
                    .type = b_.type(v),
                    .lanes = static_cast<std::uint16_t>(b_.lanes(v) / 2),
                    .a = v,
                    .immediate = half});
  }

  std::vector<Value> piece_of(const std::vector<Value>& states, std::size_t piece) const {
    const auto first = states.begin() + static_cast<std::ptrdiff_t>(piece * components_);
    return {first, first + static_cast<std::ptrdiff_t>(components_)};
  }
  std::vector<Value> carried(Value loop, std::size_t count) {
    std::vector<Value> values;
    for (std::size_t k = 0; k < count; ++k) values.push_back(b_.carried(loop, static_cast<int>(k)));
    return values;
  }

  Emission& e_;
  Builder& b_;
  const Reduce& reduce_;
  const std::size_t components_;
  const bool is_vector_;
  const int piece_lanes_;
  const std::size_t pieces_;
  const int state_lanes_;
};

}  // namespace

void emit_reduce(Emission& e, const Reduce& reduce) { ReduceEmitter(e, reduce).emit(); }

}  // namespace resilin::loop
