// src/resilin/autograd/backward_op.cpp -- Internal: a vjp as an op of its own, so that one step of backward is planned, fused and cached like any call.
#include "resilin/autograd/backward_op.h"

#include <map>
#include <mutex>
#include <utility>

#include "resilin/autograd/recorded_call.h"
#include "resilin/autograd/vjp.h"
#include "resilin/base/hash.h"
#include "resilin/dispatch/apply.h"
#include "resilin/dispatch/trace.h"

namespace resilin::tape {
namespace {

/// How the vjp sees one input, output or gradient of the call.
struct Place {
  enum class Kind : std::uint8_t { Nothing, Number, Type, Tensor };
  Kind kind = Kind::Nothing;
  DType dtype = DType::F32;    // of a Type: a tensor whose elements are not read
  std::uint8_t axes = 0;       // of a Type
  std::uint32_t has_size_1{};  // of a Type: bit a: the size of axis a is 1, which decides what is summed
  std::uint64_t word() const {
    return static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(dtype) << 8 | static_cast<std::uint64_t>(axes) << 16 |
           static_cast<std::uint64_t>(has_size_1) << 32;
  }
};

struct BackwardAttrs {
  const ir::OpDef* op = nullptr;  // whose vjp it is
  std::uint64_t wanted = 0;
  std::uint64_t gives = 0;
  ir::Attrs attrs;  // of the call
  std::size_t input_count = 0;
  std::size_t output_count = 0;
  SmallVector<Place, 6> places = {};    // inputs, outputs, gradients
  SmallVector<Dim, 8> dims = {};        // of the Types, but for sizes of 1
  SmallVector<Number, 2> numbers = {};  // of the Numbers

  bool gives_input(std::size_t i) const { return (gives >> i & 1) != 0; }
};

// --- the operations of an attribute struct, with those of the call's attributes inside -------------------------------------------------------
const BackwardAttrs& read(const void* attrs) { return *static_cast<const BackwardAttrs*>(attrs); }

bool equal_structural(const void* left, const void* right) {
  const BackwardAttrs& a = read(left);
  const BackwardAttrs& b = read(right);
  if (a.op != b.op || a.wanted != b.wanted || a.gives != b.gives || a.input_count != b.input_count || a.output_count != b.output_count)
    return false;
  if (a.places.size() != b.places.size() || &a.attrs.info() != &b.attrs.info()) return false;
  for (std::size_t i = 0; i < a.places.size(); ++i) {
    if (a.places[i].word() != b.places[i].word()) return false;
  }
  for (std::size_t i = 0; i < a.numbers.size(); ++i) {
    if (a.numbers[i].kind() != b.numbers[i].kind()) return false;
  }
  return a.attrs.info().equal_structural(a.attrs.data(), b.attrs.data());
}
std::uint64_t hash_structural(const void* attrs) {
  const BackwardAttrs& a = read(attrs);
  std::uint64_t hash = hash_mix(a.wanted, reinterpret_cast<std::uintptr_t>(a.op));
  for (const Place& place : a.places) hash = hash_mix(hash, place.word());
  for (const Number& number : a.numbers) hash = hash_mix(hash, static_cast<std::uint64_t>(number.kind()));
  return hash_mix(hash, a.attrs.info().hash_structural(a.attrs.data()));
}
void print(std::string& out, const void* attrs) {
  const BackwardAttrs& a = read(attrs);
  a.attrs.info().print(out, a.attrs.data());
}
std::shared_ptr<const void> parse(std::string_view) {
  throw UnsupportedError("parse: a graph with a step of backward in it is not read from text; expand its composites before it is printed");
}
void visit_dims(const void* attrs, const std::function<void(Dim)>& visit) {
  const BackwardAttrs& a = read(attrs);
  a.attrs.info().visit_dims(a.attrs.data(), visit);
  for (const Dim dim : a.dims) visit(dim);
}
void visit_numbers(const void* attrs, const std::function<void(Number)>& visit) {
  const BackwardAttrs& a = read(attrs);
  a.attrs.info().visit_numbers(a.attrs.data(), visit);
  for (const Number& number : a.numbers) visit(number);
}
std::shared_ptr<const void> map_values(const void* attrs, const std::function<Dim(Dim)>& dim, const std::function<Number(Number)>& number) {
  const std::shared_ptr<BackwardAttrs> result = std::make_shared<BackwardAttrs>(read(attrs));
  const ir::AttrsInfo& info = result->attrs.info();
  result->attrs = ir::Attrs(info.map_values(result->attrs.data(), dim, number), &info);
  for (Dim& value : result->dims) value = dim(value);
  for (Number& value : result->numbers) value = number(value);
  return result;
}
int read_dims(const void* attrs, i64* out, int capacity) {
  const BackwardAttrs& a = read(attrs);
  int count = a.attrs.info().read_dims(a.attrs.data(), out, capacity);
  RESILIN_ASSERT(count + static_cast<int>(a.dims.size()) <= capacity, cat("room for ", capacity, " dims is too little"));
  for (const Dim dim : a.dims) out[count++] = dim.value();
  return count;
}
int read_numbers(const void* attrs, Number* out, int capacity) {
  const BackwardAttrs& a = read(attrs);
  int count = a.attrs.info().read_numbers(a.attrs.data(), out, capacity);
  RESILIN_ASSERT(count + static_cast<int>(a.numbers.size()) <= capacity, cat("room for ", capacity, " numbers is too little"));
  for (const Number& number : a.numbers) out[count++] = number;
  return count;
}

constexpr ir::AttrsInfo kBackwardInfo = {
    .type = &typeid(BackwardAttrs),
    .copy = [](const void* attrs) -> std::shared_ptr<const void> { return std::make_shared<BackwardAttrs>(read(attrs)); },
    .equal = [](const void* a, const void* b) { return equal_structural(a, b) && read(a).dims == read(b).dims; },
    .equal_structural = equal_structural,
    .hash_structural = hash_structural,
    .print = print,
    .parse = parse,
    .visit_dims = visit_dims,
    .visit_numbers = visit_numbers,
    .map_values = map_values,
    .read_dims = read_dims,
    .read_numbers = read_numbers,
};

// --- the body ------------------------------------------------------------------------------------------------------------------------
/// Hands out the shapes of Types in the order of the places.
class TypeReader {
 public:
  explicit TypeReader(const BackwardAttrs& attrs) : attrs_(attrs) {}
  GradType next(const Place& place) {
    GradType type{place.dtype, {}};
    for (unsigned a = 0; a < place.axes; ++a) type.shape.push_back((place.has_size_1 >> a & 1) != 0 ? Dim(1) : attrs_.dims[at_++]);
    return type;
  }

 private:
  const BackwardAttrs& attrs_;
  std::size_t at_ = 0;
};

std::vector<ir::Type> infer_backward(ir::InferContext& c) {
  const BackwardAttrs& attrs = c.attrs<BackwardAttrs>();
  TypeReader types(attrs);
  std::vector<ir::Type> results;
  int tensor = 0;
  for (std::size_t i = 0; i < attrs.input_count; ++i) {
    const Place& place = attrs.places[i];
    GradType type;
    if (place.kind == Place::Kind::Type) type = types.next(place);
    if (place.kind == Place::Kind::Tensor) {
      type = {c.dtype(tensor), c.shape(tensor)};
      ++tensor;
    }
    if (attrs.gives_input(i)) results.push_back({type.dtype, type.shape, {}});
  }
  return results;
}

std::vector<Tensor> backward_body(const ir::CompositeCall& call) {
  const BackwardAttrs& attrs = call.attributes<BackwardAttrs>();
  TypeReader types(attrs);
  std::vector<Tensor> seen;
  std::vector<Number> numbers(attrs.input_count);
  std::size_t tensor = 0;
  std::size_t number = 0;
  for (std::size_t p = 0; p < attrs.places.size(); ++p) {
    const Place& place = attrs.places[p];
    seen.emplace_back();
    if (place.kind == Place::Kind::Type) seen.back() = absent(types.next(place));
    if (place.kind == Place::Kind::Tensor) seen.back() = call.inputs[tensor++];
    if (place.kind == Place::Kind::Number) numbers[p] = attrs.numbers[number++];
  }
  const std::span<const Tensor> all(seen);
  const std::vector<Tensor> grads = run_vjp(*attrs.op, {.inputs = all.first(attrs.input_count),
                                                        .outputs = all.subspan(attrs.input_count, attrs.output_count),
                                                        .grads = all.subspan(attrs.input_count + attrs.output_count),
                                                        .attrs = attrs.attrs.ref(),
                                                        .numbers = numbers,
                                                        .wanted = attrs.wanted});
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < attrs.input_count; ++i) {
    if (!attrs.gives_input(i)) continue;
    if (i >= grads.size() || !grads[i].defined())
      throw UnsupportedError("backward: a vjp gives fewer gradients than when all gradients of its outputs arrive");
    results.push_back(grads[i]);
  }
  return results;
}

// --- one call ------------------------------------------------------------------------------------------------------------------------
class CallMaker {
 public:
  explicit CallMaker(BackwardAttrs& attrs) : attrs_(attrs) {}
  void add(const Tensor& x, const Number* number) {
    Place place;
    if (!x.defined()) {
      if (number != nullptr) {
        place.kind = Place::Kind::Number;
        attrs_.numbers.push_back(*number);
      }
    } else if (x.is_traced()) {
      place = {Place::Kind::Type, x.dtype(), static_cast<std::uint8_t>(x.ndim()), 0};
      for (std::size_t a = 0; a < place.axes; ++a) {
        if (x.shape()[a] == 1) {
          place.has_size_1 |= std::uint32_t{1} << a;
        } else {
          attrs_.dims.push_back(x.shape()[a]);
        }
      }
    } else {
      place.kind = Place::Kind::Tensor;
      tensors_.push_back(x);
    }
    attrs_.places.push_back(place);
  }
  std::span<const Input> tensors() const { return tensors_; }

 private:
  BackwardAttrs& attrs_;
  SmallVector<Input, 6> tensors_;
};

Gradients spread(const Outputs& outputs, const BackwardAttrs& attrs) {
  Gradients results(attrs.input_count);
  std::size_t next = 0;
  for (std::size_t i = 0; i < attrs.input_count; ++i) {
    if (attrs.gives_input(i)) results[i] = outputs[next++];
  }
  return results;
}

}  // namespace

BackwardOp& backward_op(const ir::OpDef& forward, std::uint64_t gives) {
  static std::mutex mutex;
  static std::map<std::pair<const ir::OpDef*, std::uint64_t>, BackwardOp>* const known =
      new std::map<std::pair<const ir::OpDef*, std::uint64_t>, BackwardOp>;  // outlives every thread
  const std::lock_guard<std::mutex> lock(mutex);
  BackwardOp& op = (*known)[{&forward, gives}];
  if (op.name.empty()) {
    op.name = cat(forward.name, "_backward");
    op.definition = {.name = op.name,
                     .inputs = {{.name = "tensors", .kind = ir::InputKind::List, .promoted = false}},
                     .attrs = &kBackwardInfo,
                     .output_count = std::popcount(gives),
                     .infer = infer_backward,
                     .lower = ir::Composite{.body = backward_body, .widens = false}};
  }
  return op;
}

std::optional<Gradients> run_as_op(const RecordedCall& call, const ir::VjpCall& seen) {
  const Reads& reads = *call.reads;
  if (reads.op == nullptr || reads.op->is_refused.load(std::memory_order_relaxed)) return std::nullopt;
  BackwardAttrs attrs{.op = call.op, .wanted = call.wanted, .gives = reads.gives, .attrs = call.attrs};
  attrs.input_count = call.inputs.size();
  attrs.output_count = call.outputs.size();
  CallMaker maker(attrs);
  for (std::size_t i = 0; i < seen.inputs.size(); ++i) maker.add(seen.inputs[i], &seen.numbers[i]);
  for (const Tensor& y : seen.outputs) maker.add(y, nullptr);
  for (const Tensor& grad : seen.grads) maker.add(grad, nullptr);
  try {
    return spread(apply(reads.op->definition, maker.tensors(), {&attrs, &kBackwardInfo}), attrs);
  } catch (const DataDependentError&) {
    reads.op->is_refused.store(true, std::memory_order_relaxed);
  } catch (const UnsupportedError&) {
    reads.op->is_refused.store(true, std::memory_order_relaxed);
  }
  return std::nullopt;
}

}  // namespace resilin::tape
