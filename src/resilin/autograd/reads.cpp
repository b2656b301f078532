// src/resilin/autograd/reads.cpp -- Internal: which elements a vjp reads, found out by tracing it.
#include "resilin/autograd/reads.h"

#include <memory>
#include <mutex>
#include <unordered_map>

#include "resilin/autograd/backward_op.h"
#include "resilin/autograd/recorded_call.h"
#include "resilin/autograd/vjp.h"
#include "resilin/base/hash.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/dispatch/trace.h"
#include "resilin/ir/attrs_info.h"

namespace resilin::tape {
namespace {

struct Absent : Extension {};

using Words = SmallVector<std::uint64_t, 12>;

// Sizes of 1 decide what is summed; the others are symbols while the vjp is traced. False for a tensor of more axes than a word has room for.
bool append_type(Words& words, const GradType& type) {
  const std::size_t axes = type.shape.size();
  if (axes > 32) return false;
  std::uint64_t ones = 0;
  for (std::size_t a = 0; a < axes; ++a) ones |= std::uint64_t{type.shape[a] == 1} << a;
  words.push_back(std::uint64_t{1} | static_cast<std::uint64_t>(type.dtype) << 2 | static_cast<std::uint64_t>(axes) << 8 | ones << 32);
  return true;
}

bool append_key(Words& words, const RecordedCall& call) {
  words.push_back(reinterpret_cast<std::uintptr_t>(call.op));
  words.push_back(call.wanted);
  bool has_room = true;
  for (const RecordedInput& input : call.inputs) {
    if (input.type) {
      has_room = append_type(words, *input.type) && has_room;
    } else {
      words.push_back(std::uint64_t{2} | static_cast<std::uint64_t>(input.number_kind) << 2);
    }
  }
  for (const GradType& output : call.outputs) has_room = append_type(words, output) && has_room;
  return has_room;
}

// The values that a node reads become alive with one of its results.
void spread(const ir::Node& node, std::vector<bool>& alive) {
  const auto is_alive = [&](ir::ValueId id) { return alive[static_cast<std::size_t>(id.index)]; };
  if (std::none_of(node.outputs.begin(), node.outputs.end(), is_alive)) return;
  for (const ir::Operand& operand : node.inputs) {
    if (const ir::ValueId* id = std::get_if<ir::ValueId>(&operand)) alive[static_cast<std::size_t>(id->index)] = true;
  }
  if (node.destination.defined()) alive[static_cast<std::size_t>(node.destination.index)] = true;
}

ir::Type symbolic_type(ir::Graph& graph, const GradType& type) {
  ir::Type symbolic{type.dtype, type.shape, {}};
  for (Dim& size : symbolic.shape) {
    if (!(size == 1)) size = graph.add_symbol();
  }
  return symbolic;
}

// The answer serves all calls of the key: sizes, numbers and values of attributes are unknown here, and a vjp that asks for one cannot be traced.
Reads trace_reads(const RecordedCall& call) {
  ir::Graph graph;
  Tracer tracer(graph, CompositeMode::Keep);
  const auto traced = [&](const GradType& type) { return tracer.tensor(graph.add_input(symbolic_type(graph, type))); };
  const auto dim = [&](Dim) { return graph.add_symbol({Range::kLowest, Range::kHighest}); };
  const auto argument = [&](NumberKind kind) { return graph.add_number(kind); };
  const auto attribute = [&](const Number& number) { return argument(number.kind()); };
  const ir::AttrsInfo& info = call.attrs.info();
  const ir::Attrs attrs(info.map_values(call.attrs.data(), dim, attribute), &info);
  std::vector<Tensor> inputs;
  std::vector<Number> numbers;
  std::vector<Tensor> outputs;
  std::vector<Tensor> grads;
  for (const RecordedInput& input : call.inputs) {
    inputs.push_back(input.type ? traced(*input.type) : Tensor());
    numbers.push_back(input.type ? Number() : argument(input.number_kind));
  }
  for (const GradType& type : call.outputs) {
    outputs.push_back(traced(type));
    grads.push_back(is_floating(type.dtype) ? traced(type) : Tensor());
  }
  const TraceScope scope(tracer);
  const NoGrad no_grad;
  const std::vector<Tensor> results = run_vjp(
      *call.op, {.inputs = inputs, .outputs = outputs, .grads = grads, .attrs = attrs.ref(), .numbers = numbers, .wanted = call.wanted});
  Reads reads{0, 0};
  const bool is_derived =
      is_vjp_derived(*call.op);  // runs a body, in which any value can stand for a float that does not matter, but not for a position
  std::vector<bool> alive(static_cast<std::size_t>(graph.value_count()));
  const auto index = [&](const Tensor& x) { return static_cast<std::size_t>(tracer.value(x, call.op->name).index); };
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined() || (call.wanted & place_bit(i)) == 0) continue;
    alive[index(results[i])] = true;
    reads.gives |= place_bit(i);
    if (grads[0].defined() && index(results[i]) == index(grads[0])) reads.passes |= place_bit(i);
  }
  for (std::size_t n = graph.nodes().size(); n-- > 0;) spread(graph.nodes()[n], alive);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    if (alive[index(inputs[i])] || (is_derived && !is_floating(inputs[i].dtype()))) reads.inputs |= place_bit(i);
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (alive[index(outputs[o])]) reads.outputs |= place_bit(o);
  }
  if (reads.gives != 0 && inputs.size() < 63) reads.op = &backward_op(*call.op, reads.gives);
  return reads;
}

struct Known {
  std::uint64_t hash;
  Words key;
  ir::Attrs attrs;
  Reads reads;
  bool is_for(std::uint64_t of, const Words& words, const ir::Attrs& call_attrs) const {
    return hash == of && key == words && call_attrs.info().equal_structural(attrs.data(), call_attrs.data());
  }
};

/// What is known of all vjps; entries are never removed.
class Table {
 public:
  const Known* find(std::uint64_t hash, const Words& key, const ir::Attrs& attrs) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto range = known_.equal_range(hash);
    for (auto at = range.first; at != range.second; ++at) {
      if (at->second->is_for(hash, key, attrs)) return at->second.get();
    }
    return nullptr;
  }
  const Known* add(std::unique_ptr<const Known> made) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return known_.emplace(made->hash, std::move(made))->second.get();
  }

 private:
  std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::unique_ptr<const Known>> known_;
};
Table& table() {
  static Table* const kTable = new Table;  // outlives every thread
  return *kTable;
}

const Known* made(std::uint64_t hash, const Words& key, const RecordedCall& call) {
  Reads reads;
  try {
    reads = trace_reads(call);
  } catch (const Error&) {
    reads = {};
  }
  return table().add(std::make_unique<const Known>(Known{hash, key, call.attrs, reads}));
}

}  // namespace

const Reads& reads_of(const RecordedCall& call) {
  static const Reads kEverything;
  if (active_tracer() != nullptr) return kEverything;  // sizes may be symbols of another graph; what is not read is dead code there
  Words key;
  if (!append_key(key, call)) return kEverything;
  std::uint64_t hash = call.attrs.info().hash_structural(call.attrs.data());
  for (const std::uint64_t word : key) hash = hash_mix(hash, word);
  const Known* const found = table().find(hash, key, call.attrs);
  return (found != nullptr ? found : made(hash, key, call))->reads;
}

Tensor absent(const GradType& type) { return Tensor::symbolic(type.shape, type.dtype, std::make_unique<Absent>()); }
bool is_absent(const Tensor& x) { return dynamic_cast<const Absent*>(x.body().traced.get()) != nullptr; }

}  // namespace resilin::tape
