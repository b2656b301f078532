// src/resilin/codegen/evaluate.cpp -- Internal: the element of a region's value at an index, as a Scalar, pulled through Pointwise and View nodes.
#include "resilin/codegen/evaluate.h"

#include <utility>

#include "resilin/codegen/formula_context.h"

namespace resilin {

using loop::Scalar;

namespace {

// The index that broadcasting an input of this shape to the output uses.
Shape broadcast_index(std::span<const Dim> index, const Shape& shape) {
  Shape out;
  const std::size_t skipped = index.size() - shape.size();
  for (std::size_t a = 0; a < shape.size(); ++a) out.push_back(shape[a] == 1 ? Dim(0) : index[a + skipped]);
  return out;
}

}  // namespace

Dim linear_offset(std::span<const Dim> index, std::span<const Dim> strides) {
  Dim offset = 0;
  for (std::size_t a = 0; a < index.size(); ++a) offset += index[a] * strides[a];
  return offset;
}

Evaluator::Evaluator(const ir::Graph& region, Lowered& out) : region_(region), out_(out), facts_(region.facts()) {
  // Loops run only where every size is at least 1; what is evaluated inside them may rely on it.
  for (int v = 0; v < region.value_count(); ++v) {
    for (const Dim d : region.type({v}).shape) {
      if (d.is_symbol() && facts_.range(d).low < 1) facts_.set_range(d.as_symbol(), {1, Range::kHighest});
    }
  }
}

Evaluator::Key Evaluator::key(ir::ValueId id, std::span<const Dim> index) const {
  Key key{id.index, {reinterpret_cast<std::uintptr_t>(active_.identity())}};
  for (const Dim d : index) key.second.push_back(d.word());
  return key;
}

void Evaluator::enter(loop::Block& block) {
  block_ = &block;
  memo_.clear();
  loaded_.clear();
  active_ = Scalar();
}

int Evaluator::add_buffer(loop::Buffer buffer, ir::ValueId id) {
  out_.nest.buffers.push_back(std::move(buffer));
  out_.buffers.push_back(id);
  return static_cast<int>(out_.nest.buffers.size()) - 1;
}

int Evaluator::buffer(ir::ValueId id, loop::Buffer::Role role) {
  const std::pair<int, int> key{id.index, static_cast<int>(role)};
  const std::map<std::pair<int, int>, int>::const_iterator found = buffer_of_.find(key);
  if (found != buffer_of_.end()) return found->second;
  const int index = add_buffer({.name = "", .dtype = region_.type(id).dtype, .role = role, .elements = 0}, id);
  buffer_of_.emplace(key, index);
  return index;
}

Scalar Evaluator::number(const Number& number, DType dtype) {
  if (!number.is_argument()) {
    return number.kind() == NumberKind::Float
               ? Scalar::constant(dtype, number.as_double())
               : loop::cast(Scalar::constant_integer(ir::dtype_of(number.kind()), number.as_integer()), dtype);
  }
  const int region_index = number.argument_index();
  std::map<int, int>::const_iterator found = argument_of_.find(region_index);
  if (found == argument_of_.end()) {
    found = argument_of_.emplace(region_index, static_cast<int>(out_.arguments.size())).first;
    out_.arguments.push_back(number);
    out_.nest.argument_dtypes.push_back(ir::dtype_of(number.kind()));
  }
  return loop::cast(Scalar::argument(ir::dtype_of(number.kind()), found->second), dtype);
}

int Evaluator::check_site(const Lowered::CheckSite& site) {
  out_.check_sites.push_back(site);
  return static_cast<int>(out_.check_sites.size()) - 1;
}

void Evaluator::check(const Scalar& ok, StatusCode code, int site, Dim element, const Scalar& value) {
  const Scalar guarded = active_.defined() ? ((!active_) | ok) : ok;
  emit({loop::Check{guarded, static_cast<int>(code), site, simplify(element), value}});
}

Dim Evaluator::loaded_index(ir::ValueId id, std::span<const Dim> position, const IndexRequest& request) {
  const Key known = key(id, position);
  const std::map<Key, Dim>::const_iterator found = loaded_.find(known);
  if (found != loaded_.end()) return found->second;
  const Scalar loaded = loop::cast(value(id, position), DType::I64);
  const Scalar low = Scalar::integer(request.site.low);
  const Scalar ok = (loaded >= low) & (loaded < Scalar::integer(request.site.high));
  const int site = check_site(request.site);
  check(ok, StatusCode::IndexOutOfRange, site, request.element, loaded);
  const Symbol symbol = new_let_symbol();
  emit({loop::Let{new_local(), loop::select(ok, loaded, low), symbol}});  // after a failure memory is still read inside its bounds
  const Dim index = Dim::symbol(symbol);
  facts_.assume_less_equal(request.site.low, index);
  facts_.assume_less(index, request.site.high);
  out_.non_empty.push_back({site, request.count});
  loaded_.emplace(known, index);
  return index;
}

void Evaluator::keep_row(ir::ValueId id, std::span<const Dim> index, Dim offset, Dim elements) {
  const int buffer = add_buffer({.name = "", .dtype = region_.type(id).dtype, .role = loop::Buffer::Role::Row, .elements = elements}, {});
  emit({loop::Store{buffer, offset, value(id, index), Scalar()}});
  kept_.emplace(id.index, KeptRow{buffer, offset});
}

void Evaluator::store(ir::ValueId id, std::span<const Dim> index, const Scalar& value) {
  const Dim offset = simplify(linear_offset(index, ir::strides_of(region_.type(id))));
  emit({loop::Store{buffer(id, loop::Buffer::Role::Output), offset, value, Scalar()}});
}

Scalar Evaluator::value(ir::ValueId id, std::span<const Dim> index) {
  const std::map<int, Scalar>::const_iterator bound = bound_.find(id.index);
  if (bound != bound_.end()) return bound->second;
  const Key known = key(id, index);
  const std::map<Key, Scalar>::const_iterator found = memo_.find(known);
  if (found != memo_.end()) return found->second;
  const std::map<int, KeptRow>::const_iterator kept = kept_.find(id.index);
  const Scalar result =
      kept != kept_.end() ? Scalar::load(region_.type(id).dtype, kept->second.buffer, kept->second.offset) : pull(id, index);
  memo_.emplace(known, result);
  return result;
}

Scalar Evaluator::computed(ir::ValueId id, std::span<const Dim> index) {
  return loop::cast(value(id, index), compute_dtype(region_.type(id).dtype));
}

Scalar Evaluator::pull(ir::ValueId id, std::span<const Dim> index) {
  const ir::Type& type = region_.type(id);
  const ir::Node* node = region_.producer(id);
  if (node == nullptr) {
    const Dim offset = simplify(linear_offset(index, ir::strides_of(type)));
    return Scalar::load(type.dtype, buffer(id, loop::Buffer::Role::Input), offset);
  }
  if (const ir::Pointwise* pointwise = std::get_if<ir::Pointwise>(&node->op->lower)) {
    PointwiseEvaluation context(*this, *node, index, linear_offset(index, contiguous_strides(type.shape)));
    return loop::cast(load_before_choosing(pointwise->formula(context)), type.dtype);
  }
  RESILIN_ASSERT(std::holds_alternative<ir::View>(node->op->lower),
                 cat(node->op->name, " inside a region is neither Pointwise nor View nor bound"));
  return view_element(*node, index);
}

Scalar Evaluator::load_before_choosing(const Scalar& formula) {
  if (active_.defined() || formula.code() != loop::Code::Select) return formula;
  std::vector<Scalar> args(formula.args().begin(), formula.args().end());
  for (const std::size_t branch : {std::size_t{1}, std::size_t{2}}) {
    const Scalar chosen = args[branch];
    const bool is_cast = chosen.code() == loop::Code::Cast;
    const Scalar leaf = is_cast ? chosen.args()[0] : chosen;
    if (leaf.code() != loop::Code::Load) continue;
    const Scalar loaded = Scalar::local(leaf.dtype(), new_local());
    emit({loop::Let{loaded.index(), leaf, {}}});
    args[branch] = is_cast ? loop::cast(loaded, chosen.dtype()) : loaded;
  }
  return loop::select(args[0], args[1], args[2]);
}

Scalar Evaluator::conditions(const ir::ViewMap& map) {
  Scalar all;
  const auto require = [&all](const Scalar& condition) { all = all.defined() ? (all & condition) : condition; };
  for (const ir::IndexRange& range : map.valid) {
    const Dim value = simplify(range.value);
    if (!facts_.proves_less_equal(range.low, value)) require(Scalar::integer(simplify(range.low)) <= Scalar::integer(value));
    if (!facts_.proves_less(value, range.high)) require(Scalar::integer(value) < Scalar::integer(simplify(range.high)));
  }
  return all;
}

Scalar Evaluator::view_element(const ir::Node& node, std::span<const Dim> index) {
  const ir::ValueId input = std::get<ir::ValueId>(node.inputs[0]);
  const ir::Type& type = region_.type(input);
  UpdateEvaluation context(*this, node, index, linear_offset(index, contiguous_strides(region_.type(node.outputs[0]).shape)));
  const ir::ViewMap map = std::get<ir::View>(node.op->lower).map(context);
  Shape source;
  for (const Dim d : map.source) source.push_back(simplify(d));
  const Scalar valid = conditions(map);
  if (!valid.defined()) return value(input, source);
  const Scalar outer = active_;
  active_ = outer.defined() ? (outer & valid) : valid;
  const Scalar inside = value(input, source);
  active_ = outer;
  const Scalar fill = loop::cast(number(map.fill, compute_dtype(type.dtype)), type.dtype);
  return loop::select(valid, inside, fill);
}

DType PointwiseEvaluation::number_dtype() const {
  for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
    const bool promoted = node_.op->inputs[std::min(i, node_.op->inputs.size() - 1)].promoted;
    if (promoted && std::holds_alternative<ir::ValueId>(node_.inputs[i])) return compute_dtype(input_dtype(static_cast<int>(i)));
  }
  return compute_dtype(output_dtype(0));
}

Scalar PointwiseEvaluation::input(int input) {
  const ir::Operand& from = operand(input);
  if (const Number* n = std::get_if<Number>(&from)) {
    const bool promoted = node_.op->inputs[static_cast<std::size_t>(input)].promoted;
    return evaluator_.number(*n, promoted ? number_dtype() : ir::dtype_of(n->kind()));
  }
  const ir::ValueId id = std::get<ir::ValueId>(from);
  return evaluator_.computed(id, broadcast_index(index_, evaluator_.region().type(id).shape));
}

ReduceEvaluation::ReduceEvaluation(Evaluator& evaluator, const ir::Node& node, std::span<const Dim> index, std::span<const i64> axes)
    : NodeContext(evaluator, node, 0), index_(index) {
  const Shape& shape = evaluator.region().type(std::get<ir::ValueId>(node.inputs[0])).shape;
  for (const i64 axis : axes) {
    const std::size_t a = static_cast<std::size_t>(axis);
    position_ = position_ * shape[a] + index[a];
    count_ = count_ * shape[a];
  }
  element_ = linear_offset(index, contiguous_strides(shape));
}

Dim UpdateEvaluation::loaded_index(int input, std::span<const Dim> position, Dim low, Dim high) {
  const IndexRequest request{{node_.op, input, low, high}, element_, product(input_shape(input))};
  return evaluator_.loaded_index(std::get<ir::ValueId>(operand(input)), position, request);
}

}  // namespace resilin
