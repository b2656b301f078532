// src/resilin/dispatch/call_cache.cpp -- Internal: keys of calls, the classes they fall into, and the tables that find both again.
#include "resilin/dispatch/call_cache.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "resilin/base/config.h"
#include "resilin/base/hash.h"
#include "resilin/dispatch/trace.h"
#include "resilin/plan/group.h"

namespace resilin {
namespace {

constexpr int kMostDims = 64;  // in one attribute struct

// Which input a destination is, or none: it decides what the kernel reads and writes.
int input_of(const OpCall& call, const Tensor& destination) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i].is_tensor() && call.inputs[i].tensor().is_same(destination)) return static_cast<int>(i);
  }
  return -1;
}

// Knobs that change kernels; their generation is part of every key.
std::uint64_t knob_word() {
  static config::Knob& target = config::knob("codegen.target");
  static config::Knob& mutant = config::knob("codegen.mutant");
  return target.generation() << 32 | mutant.generation();
}

std::uint64_t number_word(const Input& input) {
  return input.is_number() ? std::uint64_t{2} | static_cast<std::uint64_t>(input.number_kind()) << 2 : std::uint64_t{0};
}

/// What every key is made of: a word for the op, the knobs, each number and the place of the destination; tensors as `add_tensor` describes them.
template <class AddWord, class AddTensor>
void describe(const OpCall& call, AddWord&& add, AddTensor&& add_tensor) {
  add(reinterpret_cast<std::uintptr_t>(&call.op));
  add(knob_word());
  for (const Input& input : call.inputs) {
    if (input.is_tensor()) {
      add_tensor(input.tensor());
    } else {
      add(number_word(input));
    }
  }
  for (const Tensor& destination : call.destinations()) {
    const int at = input_of(call, destination);
    add(static_cast<std::uint64_t>(at + 2) << 8);
    if (at < 0) add_tensor(destination);
  }
}

// Two chains of short steps, as each step waits for the one before; mixed once at the end.
std::uint64_t hash_words(const OpCall& call, std::span<const std::uint64_t> words) {
  std::uint64_t even = call.op.attrs == nullptr ? 0 : call.attrs.info->hash_structural(call.attrs.data);
  std::uint64_t odd = 0;
  const auto step = [](std::uint64_t hash, std::uint64_t word) { return (std::rotl(hash, 5) ^ word) * 0x9e3779b97f4a7c15ull; };
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    even = step(even, words[i]);
    odd = step(odd, words[i + 1]);
  }
  if (words.size() % 2 != 0) even = step(even, words.back());
  return hash_mix(even, odd);
}

bool attrs_match(const CallClass& c, const OpCall& call) {
  return call.op.attrs == nullptr || call.attrs.info->equal_structural(c.attrs.data(), call.attrs.data);
}

// --- exact keys --------------------------------------------------------------------------------------------------------------------
/// The words that decide everything but values of numbers and elements. Calls with more words than there is room for have no exact key.
class ExactKey {
 public:
  explicit ExactKey(const OpCall& call) {
    describe(
        call, [this](std::uint64_t word) { add(word); }, [this](const Tensor& x) { add_tensor(x); });
    if (call.op.attrs != nullptr && fits()) {
      i64 dims[kMostDims];
      const int count = call.attrs.info->read_dims(call.attrs.data, dims, kMostDims);
      for (int d = 0; d < count; ++d) add(static_cast<std::uint64_t>(dims[d]));
    }
    if (fits()) hash_ = hash_words(call, words());
  }
  bool fits() const { return count_ <= kRoom; }
  /// Of a key that fits.
  std::uint64_t hash() const { return hash_; }
  std::span<const std::uint64_t> words() const { return {words_, count_}; }

 private:
  static constexpr std::size_t kRoom = 64;
  void add(std::uint64_t word) {
    if (count_ < kRoom) words_[count_] = word;
    ++count_;
  }
  void add_tensor(const Tensor& x) {
    const TensorBody& body = x.body();
    const std::size_t axes = body.shape.size();
    add(std::uint64_t{1} | static_cast<std::uint64_t>(body.dtype) << 2 | static_cast<std::uint64_t>(axes) << 8);
    if (count_ + 2 * axes > kRoom) {
      count_ = kRoom + 1;
      return;
    }
    for (std::size_t a = 0; a < axes; ++a) words_[count_ + a] = static_cast<std::uint64_t>(body.shape[a].value());
    for (std::size_t a = 0; a < axes; ++a) words_[count_ + axes + a] = static_cast<std::uint64_t>(body.strides[a].value());
    count_ += 2 * axes;
  }

  std::uint64_t words_[kRoom];
  std::size_t count_ = 0;
  std::uint64_t hash_ = 0;
};

/// For a key that fits.
bool matches(const SizedCall& sized, const OpCall& call, const ExactKey& key) {
  return sized.hash == key.hash() && std::ranges::equal(sized.key, key.words()) && attrs_match(*sized.of, call);
}

// --- classes -----------------------------------------------------------------------------------------------------------------------
KeyWords class_key(const OpCall& call) {
  KeyWords words;
  describe(
      call, [&](std::uint64_t word) { words.push_back(word); }, [&](const Tensor& x) { append_layout_class(words, x); });
  return words;
}

// Graph of the class: inputs typed by layout class, attribute values as parameters.
void build_graph(CallClass& made, const OpCall& call) {
  ir::Graph& graph = made.graph;
  std::vector<ir::Operand> operands;
  for (const Input& input : call.inputs) {
    if (input.is_tensor()) {
      operands.emplace_back(graph.add_input(class_type(graph, input.tensor())));
    } else {
      operands.emplace_back(std::monostate{});
    }
  }
  std::vector<ir::ValueId> into;
  for (const Tensor& destination : call.destinations()) {
    const int at = input_of(call, destination);
    into.push_back(at >= 0 ? std::get<ir::ValueId>(operands[static_cast<std::size_t>(at)])
                           : graph.add_input(class_type(graph, destination)));
  }
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i].is_number()) operands[i] = graph.add_number(call.inputs[i].number_kind());
  }
  ir::Attrs attrs(call.attrs);
  const auto dim = [&](Dim) { return graph.add_symbol({Range::kLowest, Range::kHighest}); };
  const auto number = [&](const Number& n) { return graph.add_number(n.kind()); };
  attrs = ir::Attrs(attrs.info().map_values(attrs.data(), dim, number), &attrs.info());

  Tracer tracer(graph, CompositeMode::Keep);
  graph.set_outputs(tracer.append(call.op, std::move(operands), std::move(attrs), into));
}

bool may_alias_for_some_sizes(const ir::Graph& graph) {
  if (graph.nodes().size() != 1 || !std::holds_alternative<ir::View>(graph.nodes()[0].op->lower) || graph.nodes()[0].inputs.size() != 1)
    return false;
  return !view_as_alias(graph, graph.nodes()[0], graph.type(std::get<ir::ValueId>(graph.nodes()[0].inputs[0]))).has_value();
}

std::unique_ptr<CallClass> make_class(const OpCall& call, KeyWords key) {
  std::unique_ptr<CallClass> made = std::make_unique<CallClass>();
  made->key = std::move(key);
  made->attrs = ir::Attrs(call.attrs);
  build_graph(*made, call);
  made->expanded = expand_composites(made->graph);
  made->bindings = Bindings(made->expanded);
  const SizeSelectors selectors = size_selectors(made->expanded);
  const Dim dims[] = {made->expanded.facts().simplify(selectors.reduced_elements), made->expanded.facts().simplify(selectors.output_bytes)};
  made->selectors = DimProgram(dims);
  made->may_alias_for_some_sizes = may_alias_for_some_sizes(made->graph);
  return made;
}

struct Cache {
  std::mutex mutex;  // guards classes; they are never removed
  std::unordered_multimap<std::uint64_t, std::unique_ptr<CallClass>> classes;
};
Cache& cache() {
  static Cache* const kCache = new Cache;  // outlives every thread
  return *kCache;
}

bool matches(const CallClass& c, const OpCall& call, const KeyWords& key) { return c.key == key && attrs_match(c, call); }

CallClass* find_shared(const OpCall& call, const KeyWords& key, std::uint64_t hash) {
  const std::lock_guard<std::mutex> lock(cache().mutex);
  using Iterator = std::unordered_multimap<std::uint64_t, std::unique_ptr<CallClass>>::iterator;
  const std::pair<Iterator, Iterator> range = cache().classes.equal_range(hash);
  for (Iterator at = range.first; at != range.second; ++at) {
    if (matches(*at->second, call, key)) return at->second.get();
  }
  return nullptr;
}

// Small direct-mapped tables of this thread in front of the shared ones: a hit takes no lock.
constexpr std::size_t kNear = 256;
thread_local std::array<CallClass*, kNear> near_classes{};
thread_local std::array<const SizedCall*, kNear> near_sized{};

// --- sizes -------------------------------------------------------------------------------------------------------------------------
SymbolValues bind_symbols(const CallClass& c, const OpCall& call) {
  i64 dims[kMostDims];
  const int count = call.op.attrs == nullptr ? 0 : call.attrs.info->read_dims(call.attrs.data, dims, kMostDims);
  return c.bindings.bind(tensors_of(call), {dims, static_cast<std::size_t>(count)});
}

SizeClass size_class_for(const CallClass& c, const SymbolValues& symbols) {
  i64 sizes[2];
  c.selectors.evaluate(symbols, sizes);
  return size_class_of(sizes[0], sizes[1]);
}

// A View whose map composes with the input's strides for these sizes, though not for all sizes of the class.
std::optional<SizedCall::View> concrete_alias(const CallClass& c, const Tensor& input, const SymbolValues& symbols) {
  const ir::Node& node = c.graph.nodes()[0];
  const auto concrete = [&](Dim e) { return Dim(evaluate(e, [&](Symbol s) { return symbols[static_cast<std::size_t>(s.index)]; })); };
  ir::Graph graph;
  const ir::ValueId id = graph.add_input({input.dtype(), input.shape(), input.strides()});
  ir::Type output = c.graph.type(node.outputs[0]);
  for (Dim& size : output.shape) {
    size = concrete(size);
    if (size.value() < 0) return std::nullopt;  // the plan's checks say what is wrong
  }
  const auto number = [](const Number& n) { return n; };
  const ir::Attrs attrs(node.attrs.info().map_values(node.attrs.data(), concrete, number), &node.attrs.info());
  graph.add_node({.op = node.op, .attrs = attrs, .inputs = {ir::Operand(id)}}, {output});
  const std::optional<Alias> alias = view_as_alias(graph, graph.nodes()[0], graph.type(id));
  if (!alias) return std::nullopt;
  return SizedCall::View{alias->offset.value(), output.shape, alias->strides};
}

std::unique_ptr<SizedCall> make_sized(CallClass& c, const OpCall& call) {
  std::unique_ptr<SizedCall> sized = std::make_unique<SizedCall>();
  sized->of = &c;
  sized->symbols = bind_symbols(c, call);
  sized->size_class = size_class_for(c, sized->symbols);
  if (c.may_alias_for_some_sizes) sized->alias = concrete_alias(c, *tensors_of(call)[0], sized->symbols);
  if (sized->alias) return sized;
  sized->executable = &executable_for(c, sized->size_class);
  sized->integers = sized->executable->evaluate(sized->symbols);
  return sized;
}

}  // namespace

const Executable& executable_for(CallClass& c, const SizeClass& size_class) {
  std::atomic<const Executable*>& slot =
      c.variants[static_cast<std::size_t>(size_class.long_rows) + 2 * static_cast<std::size_t>(size_class.streaming)];
  if (const Executable* ready = slot.load(std::memory_order_acquire)) return *ready;
  const std::lock_guard<std::mutex> lock(c.mutex);
  if (slot.load(std::memory_order_acquire) == nullptr) {
    slot.store(new Executable(make_plan(c.expanded, size_class)), std::memory_order_release);
  }
  return *slot.load(std::memory_order_acquire);
}

CallTensors tensors_of(const OpCall& call) {
  CallTensors tensors;
  for (const Input& input : call.inputs) {
    if (input.is_tensor()) tensors.push_back(&input.tensor());
  }
  for (const Tensor& destination : call.destinations()) {
    if (input_of(call, destination) < 0) tensors.push_back(&destination);
  }
  return tensors;
}

CallClass& find_class(const OpCall& call) {
  KeyWords key = class_key(call);
  const std::uint64_t hash = hash_words(call, key);
  CallClass*& near = near_classes[hash % kNear];
  if (near != nullptr && matches(*near, call, key)) return *near;
  CallClass* found = find_shared(call, key, hash);
  if (found == nullptr) {
    std::unique_ptr<CallClass> made = make_class(call, std::move(key));
    const std::lock_guard<std::mutex> lock(cache().mutex);
    found = cache().classes.emplace(hash, std::move(made))->second.get();
  }
  near = found;
  return *found;
}

const SizedCall& find_sized(const OpCall& call, std::unique_ptr<SizedCall>& own) {
  const ExactKey key(call);
  if (!key.fits()) return *(own = make_sized(find_class(call), call));
  const SizedCall*& near = near_sized[key.hash() % kNear];
  if (near != nullptr && matches(*near, call, key)) return *near;
  CallClass& c = find_class(call);
  for (std::atomic<const SizedCall*>& slot : c.sized) {
    const SizedCall* sized = slot.load(std::memory_order_acquire);
    if (sized == nullptr) {
      if (own == nullptr) {
        own = make_sized(c, call);
        own->key.append(key.words().begin(), key.words().end());
        own->hash = key.hash();
      }
      if (slot.compare_exchange_strong(sized, own.get(), std::memory_order_acq_rel)) return *(near = own.release());
    }
    if (matches(*sized, call, key)) return *(near = sized);
  }
  if (own == nullptr) own = make_sized(c, call);
  return *own;
}

}  // namespace resilin
