// src/resilin/autograd/reads.cpp -- Internal: which elements a vjp reads, found out by tracing it.
#include "resilin/autograd/reads.h"

#include <unordered_map>

#include "resilin/autograd/backward_op.h"
#include "resilin/base/hash.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/dispatch/trace.h"
#include "resilin/ir/attrs_info.h"

namespace resilin::tape {
namespace {

struct Absent : Extension {};

using Words = SmallVector<std::uint64_t, 12>;

void add_type(Words& words, const GradType& type) {
  words.push_back(std::uint64_t{1} | static_cast<std::uint64_t>(type.dtype) << 2 | static_cast<std::uint64_t>(type.shape.size()) << 8);
}

Words key_of(const RecordedCall& call) {
  Words words;
  words.push_back(reinterpret_cast<std::uintptr_t>(call.op));
  words.push_back(call.wanted);
  for (const RecordedInput& input : call.inputs) {
    if (input.type) {
      add_type(words, *input.type);
    } else {
      words.push_back(std::uint64_t{2} | static_cast<std::uint64_t>(input.number.kind()) << 2);
    }
  }
  for (const GradType& output : call.outputs) add_type(words, output);
  return words;
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

Reads trace_reads(const RecordedCall& call) {
  ir::Graph graph;
  Tracer tracer(graph, CompositeMode::Keep);
  const auto traced = [&](const GradType& type) { return tracer.tensor(graph.add_input({type.dtype, type.shape, {}})); };
  std::vector<Tensor> inputs;
  std::vector<Number> numbers;
  std::vector<Tensor> outputs;
  std::vector<Tensor> grads;
  for (const RecordedInput& input : call.inputs) {
    inputs.push_back(input.type ? traced(*input.type) : Tensor());
    numbers.push_back(input.number);
  }
  for (const GradType& type : call.outputs) {
    outputs.push_back(traced(type));
    grads.push_back(is_floating(type.dtype) ? traced(type) : Tensor());
  }
  const TraceScope scope(tracer);
  const NoGrad no_grad;
  const std::vector<Tensor> results = call.vjp(
      {.inputs = inputs, .outputs = outputs, .grads = grads, .attrs = call.attrs.ref(), .numbers = numbers, .wanted = call.wanted});
  Reads reads{0, 0};
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
    if (inputs[i].defined() && alive[index(inputs[i])]) reads.inputs |= place_bit(i);
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (alive[index(outputs[o])]) reads.outputs |= place_bit(o);
  }
  if (reads.gives != 0 && inputs.size() < 63) reads.op = &backward_op(*call.op, reads.gives);
  return reads;
}

struct Known {
  Words key;
  ir::Attrs attrs;
  Reads reads;
};

}  // namespace

Reads reads_of(const RecordedCall& call) {
  if (active_tracer() != nullptr) return {};  // sizes may be symbols of another graph; what is not read is dead code there
  thread_local std::unordered_multimap<std::uint64_t, Known> known;
  const Words key = key_of(call);
  std::uint64_t hash = call.attrs.info().hash_structural(call.attrs.data());
  for (const std::uint64_t word : key) hash = hash_mix(hash, word);
  const auto range = known.equal_range(hash);
  for (auto at = range.first; at != range.second; ++at) {
    const Known& entry = at->second;
    if (entry.key == key && call.attrs.info().equal_structural(entry.attrs.data(), call.attrs.data())) return entry.reads;
  }
  Reads reads;
  try {
    reads = trace_reads(call);
  } catch (const Error&) {
    reads = {};
  }
  known.emplace(hash, Known{key, call.attrs, reads});
  return reads;
}

Tensor absent(const GradType& type) { return Tensor::symbolic(type.shape, type.dtype, std::make_unique<Absent>()); }

}  // namespace resilin::tape
