// src/resilin/loop/interpret.cpp -- runs the statements of a nest one iteration at a time, in the orders that nest.h fixes.
#include "resilin/loop/interpret.h"

#include <algorithm>

#include "resilin/loop/interpret_scalar.h"

namespace resilin::loop {
namespace {

using State = std::vector<std::uint64_t>;  // one value per component

class Interpreter {
 public:
  Interpreter(const Nest& nest, const Arguments& arguments) : nest_(nest), arguments_(arguments), scalars_(nest, arguments) {}

  std::optional<Failure> run() {
    provide_memory(Buffer::Role::Partial);
    for (const Phase& phase : nest_.phases) {
      provide_memory(Buffer::Role::Row);
      const i64 extent = scalars_.dim(phase.extent);
      for (i64 k = 0; k < extent; ++k) {
        scalars_.set_symbol(phase.variable, k);
        block(phase.body);
      }
    }
    return failure_;
  }

  void operator()(const Loop& s) {
    const i64 extent = scalars_.dim(s.extent);
    for (i64 k = 0; k < extent; ++k) {
      scalars_.set_symbol(s.variable, k);
      block(s.body);
    }
  }

  void operator()(const Let& s) {
    scalars_.begin();
    const std::uint64_t bits = scalars_.value(s.value);
    scalars_.set_local(s.index, bits);
    if (s.symbol) scalars_.set_symbol(*s.symbol, static_cast<i64>(bits));
  }

  void operator()(const Store& s) {
    scalars_.begin();
    if (s.mask.defined() && !scalars_.condition(s.mask)) return;
    const DType dtype = nest_.buffers[static_cast<std::size_t>(s.buffer)].dtype;
    const std::uint64_t bits = scalars_.value(s.value);
    write_element(dtype, scalars_.pointer(s.buffer), scalars_.dim(s.offset), bits);
  }

  void operator()(const Check& s) {
    scalars_.begin();
    if (scalars_.condition(s.ok)) return;
    const i64 element = scalars_.dim(s.element);
    if (failure_ && failure_->element <= element) return;
    failure_ = Failure{s.code, s.operand, element, static_cast<i64>(scalars_.value(s.value))};
  }

  void operator()(const Reduce& s) {
    std::vector<State> lanes(static_cast<std::size_t>(s.lanes), values(s.combiner.init));
    reduce_axis(s, 0, lanes);
    for (std::size_t half = lanes.size() / 2; half >= 1; half /= 2) {
      for (std::size_t l = 0; l < half; ++l) lanes[l] = combine(s.combiner, lanes[l], lanes[l + half]);
    }
    set_results(s.results, lanes[0]);
  }

  void operator()(const Scan& s) {
    const i64 extent = scalars_.dim(s.extent);
    State carry;
    for (i64 begin = 0; begin < extent; begin += s.lanes) {
      std::vector<State> x;
      for (i64 k = begin; k < std::min(begin + s.lanes, extent); ++k) {
        scalars_.set_symbol(s.variable, k);
        block(s.body);
        x.push_back(values(s.combiner.element));
      }
      scan_block(s, x);
      for (State& state : x) {
        if (begin > 0) state = combine(s.combiner, carry, state);
      }
      for (std::size_t l = 0; l < x.size(); ++l) {
        scalars_.set_symbol(s.variable, begin + static_cast<i64>(l));
        set_results(s.results, x[l]);
        block(s.after);
      }
      carry = x.back();
    }
  }

  void operator()(const TableLoop& s) {
    for (std::size_t t = 0; t < arguments_.table.size(); ++t) {
      const TableEntry& entry = arguments_.table[t];
      RESILIN_ASSERT(entry.integers.size() == s.columns.size(),
                     cat("interpret: ", entry.integers.size(), " integers for ", s.columns.size(), " columns"));
      scalars_.set_symbol(s.variable, static_cast<i64>(t));
      for (std::size_t c = 0; c < s.columns.size(); ++c) scalars_.set_symbol(s.columns[c], entry.integers[c]);
      std::size_t next = 0;
      for (std::size_t b = 0; b < nest_.buffers.size(); ++b) {
        if (nest_.buffers[b].role == Buffer::Role::Entry) scalars_.set_pointer(static_cast<int>(b), entry.pointers.at(next++));
      }
      block(s.body);
    }
  }

 private:
  // Fresh memory for the buffers of a role, filled with a pattern so that reading before writing shows.
  void provide_memory(Buffer::Role role) {
    for (std::size_t b = 0; b < nest_.buffers.size(); ++b) {
      const Buffer& buffer = nest_.buffers[b];
      if (buffer.role != role) continue;
      const i64 bytes = scalars_.dim(buffer.elements) * size_bytes(buffer.dtype);
      memory_.emplace_back(static_cast<std::size_t>(bytes), std::byte{0xa5});
      scalars_.set_pointer(static_cast<int>(b), memory_.back().data());
    }
  }

  void block(const Block& statements) {
    for (const Statement& s : statements) std::visit(*this, s.value);
  }

  State values(const std::vector<Scalar>& list) {
    scalars_.begin();
    State out;
    for (const Scalar& s : list) out.push_back(scalars_.value(s));
    return out;
  }

  State combine(const Combiner& c, const State& left, const State& right) {
    State inputs = left;
    inputs.insert(inputs.end(), right.begin(), right.end());
    scalars_.set_inputs(inputs);
    return values(c.combine);
  }

  void set_results(const std::vector<int>& results, const State& state) {
    for (std::size_t c = 0; c < results.size(); ++c) scalars_.set_local(results[c], state[c]);
  }

  void reduce_axis(const Reduce& s, std::size_t axis, std::vector<State>& lanes) {
    const i64 extent = scalars_.dim(s.extents[axis]);
    const bool last = axis + 1 == s.variables.size();
    for (i64 k = 0; k < extent; ++k) {
      scalars_.set_symbol(s.variables[axis], k);
      if (!last) {
        reduce_axis(s, axis + 1, lanes);
        continue;
      }
      block(s.body);
      State& lane = lanes[static_cast<std::size_t>(k % s.lanes)];
      lane = combine(s.combiner, lane, values(s.combiner.element));
    }
  }

  // Hillis-Steele inside one block, all lanes at once in each step.
  void scan_block(const Scan& s, std::vector<State>& x) {
    for (std::size_t distance = 1; distance < static_cast<std::size_t>(s.lanes); distance *= 2) {
      const std::vector<State> before = x;
      for (std::size_t l = distance; l < x.size(); ++l) x[l] = combine(s.combiner, before[l - distance], before[l]);
    }
  }

  const Nest& nest_;
  const Arguments& arguments_;
  ScalarInterpreter scalars_;
  std::vector<std::vector<std::byte>> memory_;
  std::optional<Failure> failure_;
};

}  // namespace

std::optional<Failure> interpret(const Nest& nest, const Arguments& arguments) { return Interpreter(nest, arguments).run(); }

}  // namespace resilin::loop
