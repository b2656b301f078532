// src/resilin/dispatch/execute.cpp -- Internal: the interpreter that runs an applied op now, through a cache of plans by layout class.
#include "resilin/dispatch/execute.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "resilin/base/config.h"
#include "resilin/base/hash.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/layout_class.h"
#include "resilin/dispatch/trace.h"
#include "resilin/plan/group.h"

namespace resilin {
namespace {

constexpr int kMaxValues = 64;  // Dims or numbers in one attribute struct

// --- keys --------------------------------------------------------------------------------------------------------------------------
struct Key {
  KeyWords words;
  std::uint64_t hash = 0;
  const ir::OpDef* op = nullptr;
  ir::AttrsRef attrs{};
};

void append_number_kinds(KeyWords& words, ir::AttrsRef attrs) {
  Number numbers[kMaxValues];
  const int count = attrs.info->read_numbers(attrs.data, numbers, kMaxValues);
  for (int i = 0; i < count; ++i) words.push_back(static_cast<std::uint64_t>(numbers[i].kind()));
}

// Which input the destination is, or none: it decides what the kernel reads and writes.
int destination_input(std::span<const Input> inputs, const Tensor& destination) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_tensor() && inputs[i].tensor().is_same(destination)) return static_cast<int>(i);
  }
  return -1;
}

// Knobs that change kernels; their generation is part of every key.
std::uint64_t knob_words() {
  static config::Knob& target = config::knob("codegen.target");
  static config::Knob& mutant = config::knob("codegen.mutant");
  return target.generation() << 32 | mutant.generation();
}

Key make_key(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination) {
  Key key;
  key.op = &op;
  key.attrs = attrs;
  key.words.push_back(reinterpret_cast<std::uintptr_t>(&op));
  key.words.push_back(knob_words());
  for (const Input& input : inputs) {
    if (input.is_tensor()) {
      append_layout_class(key.words, input.tensor());
    } else {
      key.words.push_back(input.is_number() ? std::uint64_t{2} | static_cast<std::uint64_t>(input.number().kind()) << 2 : std::uint64_t{0});
    }
  }
  if (destination != nullptr) {
    const int at = destination_input(inputs, *destination);
    key.words.push_back(static_cast<std::uint64_t>(at + 2) << 8);
    if (at < 0) append_layout_class(key.words, *destination);
  }
  if (op.attrs != nullptr) append_number_kinds(key.words, attrs);
  key.hash = op.attrs == nullptr ? 0 : attrs.info->hash_structural(attrs.data);
  for (const std::uint64_t word : key.words) key.hash = hash_mix(key.hash, word);
  return key;
}

// --- entries -----------------------------------------------------------------------------------------------------------------------
struct Entry {
  KeyWords words;
  ir::Attrs attrs;
  ir::Graph graph;     // one node (and casts), sizes declared
  ir::Graph expanded;  // without Composites
  Bindings bindings;
  DimProgram selectors;
  std::array<std::atomic<const Executable*>, 4> variants{};  // by size class; never freed
  std::mutex mutex;                                          // one compile per variant
  bool try_concrete_alias = false;                           // a View that is no alias for every size of this class, but may be for some
};

bool matches(const Entry& entry, const Key& key) {
  return entry.words == key.words && (key.op->attrs == nullptr || key.attrs.info->equal_structural(entry.attrs.data(), key.attrs.data));
}

// Graph of the call: inputs typed by class, attribute values as parameters.
void build_graph(Entry& entry, const Key& key, std::span<const Input> inputs, const Tensor* destination) {
  ir::Graph& graph = entry.graph;
  std::vector<ir::Operand> operands;
  for (const Input& input : inputs) {
    if (input.is_tensor()) {
      operands.emplace_back(graph.add_input(class_type(graph, input.tensor())));
    } else {
      operands.emplace_back(std::monostate{});
    }
  }
  ir::ValueId into;
  if (destination != nullptr) {
    const int at = destination_input(inputs, *destination);
    into = at >= 0 ? std::get<ir::ValueId>(operands[static_cast<std::size_t>(at)]) : graph.add_input(class_type(graph, *destination));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_number()) operands[i] = graph.add_number(inputs[i].number().kind());
  }
  ir::Attrs attrs(key.attrs);
  const auto dim = [&](Dim) { return graph.add_symbol({Range::kLowest, Range::kHighest}); };
  const auto number = [&](const Number& n) { return graph.add_number(n.kind()); };
  attrs = ir::Attrs(attrs.info().map_values(attrs.data(), dim, number), &attrs.info());

  Tracer tracer(graph, CompositeMode::Keep);
  graph.set_outputs(tracer.append(*key.op, std::move(operands), std::move(attrs), into));
}

bool may_alias_for_some_sizes(const ir::Graph& graph) {
  if (graph.nodes().size() != 1 || !std::holds_alternative<ir::View>(graph.nodes()[0].op->lower) || graph.nodes()[0].inputs.size() != 1)
    return false;
  return !view_as_alias(graph, graph.nodes()[0], graph.type(std::get<ir::ValueId>(graph.nodes()[0].inputs[0]))).has_value();
}

std::unique_ptr<Entry> make_entry(const Key& key, std::span<const Input> inputs, const Tensor* destination) {
  std::unique_ptr<Entry> entry = std::make_unique<Entry>();
  entry->words = key.words;
  entry->attrs = ir::Attrs(key.attrs);
  build_graph(*entry, key, inputs, destination);
  entry->expanded = expand_composites(entry->graph);
  entry->bindings = Bindings(entry->expanded);
  const SizeSelectors selectors = size_selectors(entry->expanded);
  const Dim dims[] = {entry->expanded.facts().simplify(selectors.reduced_elements),
                      entry->expanded.facts().simplify(selectors.output_bytes)};
  entry->selectors = DimProgram(dims);
  entry->try_concrete_alias = may_alias_for_some_sizes(entry->graph);
  return entry;
}

// --- the cache ---------------------------------------------------------------------------------------------------------------------
struct Cache {
  std::mutex mutex;  // guards entries; they are never removed
  std::unordered_multimap<std::uint64_t, std::unique_ptr<Entry>> entries;
};
Cache& cache() {
  static Cache* const kCache = new Cache;  // outlives every thread
  return *kCache;
}

Entry* find_shared(const Key& key) {
  const std::lock_guard<std::mutex> lock(cache().mutex);
  using Iterator = std::unordered_multimap<std::uint64_t, std::unique_ptr<Entry>>::iterator;
  const std::pair<Iterator, Iterator> range = cache().entries.equal_range(key.hash);
  for (Iterator at = range.first; at != range.second; ++at) {
    if (matches(*at->second, key)) return at->second.get();
  }
  return nullptr;
}

// A small direct-mapped table of this thread in front of the shared one: a hit takes no lock.
constexpr std::size_t kNearEntries = 256;
thread_local std::array<Entry*, kNearEntries> near_entries{};

Entry& find_or_make(const Key& key, std::span<const Input> inputs, const Tensor* destination) {
  Entry*& near = near_entries[key.hash % kNearEntries];
  if (near != nullptr && matches(*near, key)) return *near;
  Entry* entry = find_shared(key);
  if (entry == nullptr) {
    std::unique_ptr<Entry> made = make_entry(key, inputs, destination);
    const std::lock_guard<std::mutex> lock(cache().mutex);
    entry = cache().entries.emplace(key.hash, std::move(made))->second.get();
  }
  near = entry;
  return *entry;
}

// --- one call ----------------------------------------------------------------------------------------------------------------------
struct BoundCall {
  SmallVector<const Tensor*, 6> tensors;
  SymbolValues symbols;
  SmallVector<Number, 4> numbers;
};

BoundCall bind_call(const Entry& entry, const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination) {
  BoundCall call;
  for (const Input& input : inputs) {
    if (input.is_tensor()) call.tensors.push_back(&input.tensor());
    if (input.is_number()) call.numbers.push_back(input.number());
  }
  if (destination != nullptr && destination_input(inputs, *destination) < 0) call.tensors.push_back(destination);
  if (op.attrs == nullptr) {
    call.symbols = entry.bindings.bind(call.tensors, {});
    return call;
  }
  i64 dims[kMaxValues];
  const int dim_count = attrs.info->read_dims(attrs.data, dims, kMaxValues);
  call.symbols = entry.bindings.bind(call.tensors, {dims, static_cast<std::size_t>(dim_count)});
  Number numbers[kMaxValues];
  const int number_count = attrs.info->read_numbers(attrs.data, numbers, kMaxValues);
  call.numbers.append(numbers, numbers + number_count);
  return call;
}

std::size_t variant_of(const SizeClass& c) { return static_cast<std::size_t>(c.long_rows) + 2 * static_cast<std::size_t>(c.streaming); }

SizeClass size_class_for(const Entry& entry, const BoundCall& call) {
  i64 sizes[2];
  entry.selectors.evaluate(call.symbols, sizes);
  return size_class_of(sizes[0], sizes[1]);
}

const Executable& executable_for(Entry& entry, const SizeClass& size_class) {
  std::atomic<const Executable*>& slot = entry.variants[variant_of(size_class)];
  if (const Executable* ready = slot.load(std::memory_order_acquire)) return *ready;
  const std::lock_guard<std::mutex> lock(entry.mutex);
  if (slot.load(std::memory_order_acquire) == nullptr) {
    slot.store(new Executable(make_plan(entry.expanded, size_class)), std::memory_order_release);  // entries live as long as the process
  }
  return *slot.load(std::memory_order_acquire);
}

// A View whose map composes with the input's strides for these sizes, though not for all sizes of the class.
std::optional<Tensor> concrete_alias(const Entry& entry, const Tensor& input, const BoundCall& call) {
  const ir::Node& node = entry.graph.nodes()[0];
  const auto concrete = [&](Dim e) { return Dim(evaluate(e, [&](Symbol s) { return call.symbols[static_cast<std::size_t>(s.index)]; })); };
  ir::Graph graph;
  const ir::ValueId id = graph.add_input({input.dtype(), input.shape(), input.strides()});
  ir::Type output = entry.graph.type(node.outputs[0]);
  for (Dim& size : output.shape) {
    size = concrete(size);
    if (size.value() < 0) return std::nullopt;  // the plan's checks say what is wrong
  }
  const auto number = [](const Number& n) { return n; };
  const ir::Attrs attrs(node.attrs.info().map_values(node.attrs.data(), concrete, number), &node.attrs.info());
  graph.add_node({.op = node.op, .attrs = attrs, .inputs = {ir::Operand(id)}}, {output});
  const std::optional<Alias> alias = view_as_alias(graph, graph.nodes()[0], graph.type(id));
  if (!alias) return std::nullopt;
  return Tensor::view(input.storage(), input.dtype(), input.offset() + alias->offset.value(), output.shape, alias->strides);
}

// --- destinations ------------------------------------------------------------------------------------------------------------------
bool is_same_view(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.offset() == b.offset() && a.dtype() == b.dtype() && a.shape() == b.shape() &&
         a.strides() == b.strides();
}

void check_destination(const ir::OpDef& op, const Tensor& destination) {
  if (destination.is_contiguous() || is_non_overlapping(destination.shape(), destination.strides())) return;
  throw ArgumentError(
      cat(op.name, ": unsupported operation: more than one element of the written-to tensor refers to a single memory location: shape ",
          destination.shape(), " has strides ", destination.strides(), "; please clone() the tensor before performing the operation"));
}

bool overlaps_an_input(std::span<const Input> inputs, const Tensor& destination) {
  for (const Input& input : inputs) {
    if (input.is_tensor() && !is_same_view(input.tensor(), destination) && may_overlap(input.tensor(), destination)) return true;
  }
  return false;
}

}  // namespace

Outputs execute(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination) {
  if (destination != nullptr) {
    check_destination(op, *destination);
    if (overlaps_an_input(inputs, *destination)) {
      const Tensor result = execute(op, inputs, attrs, nullptr)[0];
      const Input copy[] = {*destination, result};
      return execute(assign_op, copy, ir::Attrs().ref(), destination);
    }
  }
  const Key key = make_key(op, inputs, attrs, destination);
  Entry& entry = find_or_make(key, inputs, destination);
  BoundCall call = bind_call(entry, op, inputs, attrs, destination);
  if (entry.try_concrete_alias) {
    std::optional<Tensor> alias = concrete_alias(entry, *call.tensors[0], call);
    if (alias) return {std::move(*alias)};
  }
  const Executable& executable = executable_for(entry, size_class_for(entry, call));
  Outputs outputs = executable.run(call.tensors, call.symbols, call.numbers);
  if (destination != nullptr) {
    destination->storage().bump_version();
    outputs[0] = *destination;
  }
  return outputs;
}

EagerRecord eager_record(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination) {
  const Key key = make_key(op, inputs, attrs, destination);
  Entry& entry = find_or_make(key, inputs, destination);
  const BoundCall call = bind_call(entry, op, inputs, attrs, destination);
  EagerRecord record{entry.graph, size_class_for(entry, call), {}};
  for (const Step& step : executable_for(entry, record.size_class).plan().steps) {
    if (const LaunchStep* launch = std::get_if<LaunchStep>(&step.body)) record.kernel_texts.push_back(launch->text);
  }
  return record;
}

ir::Graph eager_graph(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination) {
  return find_or_make(make_key(op, inputs, attrs, destination), inputs, destination).graph;
}

}  // namespace resilin
