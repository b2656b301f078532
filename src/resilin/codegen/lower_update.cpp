// src/resilin/codegen/lower_update.cpp -- Internal: lowers a region whose last node is an Update.
//
// A functional update first copies the base, then writes the values, in two phases of one kernel; an update in place (the node's destination is its base)
// has only the second. A list of values (cat) is one table: the kernel does not know how many there are.
#include <utility>

#include "resilin/codegen/axes.h"
#include "resilin/codegen/formula_context.h"
#include "resilin/codegen/lower_rows.h"

namespace resilin {
namespace {

constexpr i64 kBlockElements = 16384;  // of a list's output, copied as one unit of parallel work

class UpdateLowering {
 public:
  UpdateLowering(const ir::Graph& region, Lowered& out)
      : region_(region), node_(region.nodes().back()), form_(std::get<ir::Update>(node_.op->lower)), out_(out), evaluator_(region, out) {}

  void run() {
    if (form_.base >= 0 && !(node_.destination == value_of(form_.base))) copy_base();
    if (form_.list_axis == nullptr) {
      write_value();
    } else if (all_entries_row_major()) {
      write_row_major_entries();
    } else {
      write_strided_entries();
    }
  }

 private:
  ir::ValueId value_of(int input) const { return std::get<ir::ValueId>(node_.inputs[static_cast<std::size_t>(input)]); }
  ir::ValueId result() const { return node_.outputs[0]; }
  const Shape& result_shape() const { return region_.type(result()).shape; }

  Axis new_axis(Dim size) {
    const Axis axis{evaluator_.new_variable(), size};
    assume_index(evaluator_.facts(), axis.variable, size);
    return axis;
  }
  void add_phase(loop::Block body, const std::vector<Axis>& axes, bool vectorize_last) {
    out_.nest.phases.push_back(parallel_phase(std::move(body), axes, vectorize_last, evaluator_.new_variable()));
  }

  void copy_base() {
    std::vector<Axis> axes;
    Shape index;
    for (const Dim size : result_shape()) {
      axes.push_back(new_axis(size));
      index.push_back(Dim::symbol(axes.back().variable));
    }
    loop::Block body;
    evaluator_.enter(body);
    evaluator_.store(result(), index, evaluator_.value(value_of(form_.base), index));
    loop::Block* const blocks[] = {&body};
    merge_axes(axes, blocks, evaluator_.facts());
    add_phase(std::move(body), axes, true);
  }

  void write_value() {
    const ir::Type& value = region_.type(value_of(form_.value));
    const i64 repeated = form_.repeated_axis == nullptr ? -1 : form_.repeated_axis(node_.attrs.ref(), value.ndim());
    std::vector<Axis> axes;
    std::vector<Axis> serial;
    Shape index;
    for (std::size_t a = 0; a < value.shape.size(); ++a) {
      const Axis axis = new_axis(value.shape[a]);
      index.push_back(Dim::symbol(axis.variable));
      (static_cast<i64>(a) == repeated ? serial : axes).push_back(axis);
    }
    loop::Block body;
    evaluator_.enter(body);
    UpdateEvaluation context(evaluator_, node_, index, linear_offset(index, contiguous_strides(value.shape)));
    const Shape target = form_.target(context);
    loop::Scalar element = evaluator_.value(value_of(form_.value), index);
    const DType dtype = region_.type(result()).dtype;
    if (form_.combine != nullptr) {
      const int buffer = evaluator_.buffer(result(), loop::Buffer::Role::Output);
      const Dim offset = evaluator_.simplify(linear_offset(target, ir::strides_of(region_.type(result()))));
      const loop::Scalar old_value = loop::cast(loop::Scalar::load(dtype, buffer, offset), compute_dtype(dtype));
      element = form_.combine(context, old_value, loop::cast(element, compute_dtype(dtype)));
    }
    evaluator_.store(result(), target, loop::cast(element, dtype));
    loop::Block* const blocks[] = {&body};
    merge_axes(axes, blocks, evaluator_.facts());
    add_update_phase(std::move(body), axes, serial);
  }

  // The repeated axis runs in ascending order inside one parallel iteration, the vector axis inside it.
  void add_update_phase(loop::Block body, std::vector<Axis> axes, const std::vector<Axis>& serial) {
    if (serial.empty()) return add_phase(std::move(body), axes, true);
    if (!axes.empty()) {
      body = wrap_loops(std::move(body), std::span<const Axis>(&axes.back(), 1), loop::LoopKind::Vector);
      axes.pop_back();
    }
    add_phase(wrap_loops(std::move(body), serial, loop::LoopKind::Serial), axes, false);
  }

  // --- lists ---------------------------------------------------------------------------------------------------------------------
  std::span<const ir::Operand> entries() const {
    return std::span<const ir::Operand>(node_.inputs).subspan(static_cast<std::size_t>(form_.value));
  }
  std::size_t list_axis() const {
    return static_cast<std::size_t>(form_.list_axis(node_.attrs.ref(), static_cast<i64>(result_shape().size())));
  }

  bool all_entries_row_major() const {
    for (const ir::Operand& entry : entries()) {
      if (region_.type(std::get<ir::ValueId>(entry)).strides) return false;
    }
    return true;
  }

  // Begins the loop over the table; column c of each entry is computed by `columns` from the entry's type and its offset along the list axis.
  loop::TableLoop table_loop(const std::function<std::vector<Dim>(const ir::Type&, Dim offset)>& columns) {
    loop::TableLoop table;
    table.variable = evaluator_.new_variable();
    Dim offset = 0;
    for (const ir::Operand& entry : entries()) {
      const ir::ValueId id = std::get<ir::ValueId>(entry);
      RESILIN_ASSERT(region_.producer(id) == nullptr, cat(node_.op->name, ": the entries of a list must be inputs of the region"));
      out_.table.push_back({id, columns(region_.type(id), offset)});
      offset += region_.type(id).shape[list_axis()];
    }
    for (std::size_t c = 0; c < out_.table[0].columns.size(); ++c) table.columns.push_back(evaluator_.new_let_symbol());
    return table;
  }
  // The size of the list axis is a sum with a term for each entry; to multiply it out again and again would grow beyond what a Dim may hold.
  Dim named(Dim e) {
    if (e.is_constant() || e.is_symbol()) return e;
    out_.named_dims.push_back(e);
    const Dim name = Lowered::named(out_.named_dims.size() - 1);
    evaluator_.facts().set_range(name.as_symbol(), {0, Range::kHighest});
    return name;
  }
  int entry_buffer() { return evaluator_.add_buffer({"", region_.type(result()).dtype, loop::Buffer::Role::Entry, 0}, {}); }
  void add_store(loop::Block& body, Dim offset, const loop::Scalar& value) {
    body.push_back({loop::Store{evaluator_.buffer(result(), loop::Buffer::Role::Output), offset, value, loop::Scalar()}});
  }

  // Row-major entries: along the list axis and everything inside it an entry is one run of elements. Work is cut into blocks of the output's runs.
  void write_row_major_entries() {
    const std::size_t axis = list_axis();
    const Shape& shape = result_shape();
    const Dim inner = product(std::span<const Dim>(shape).subspan(axis + 1));
    const Dim run = named(shape[axis] * inner);
    loop::TableLoop table = table_loop([&](const ir::Type& type, Dim offset) {
      return std::vector<Dim>{type.shape[axis] * inner, offset * inner};
    });
    const Dim length = Dim::symbol(table.columns[0]);
    const Dim start = Dim::symbol(table.columns[1]);
    const Axis outer{evaluator_.new_variable(), product(std::span<const Dim>(shape).first(axis))};
    const Axis block{evaluator_.new_variable(), ceil_div(run, kBlockElements)};
    const Dim block_begin = Dim::symbol(block.variable) * Dim(kBlockElements);
    const Dim begin = max(Dim(0), block_begin - start);
    const Dim end = min(length, block_begin + Dim(kBlockElements) - start);
    const Axis element{evaluator_.new_variable(), max(Dim(0), end - begin)};

    const Dim within = begin + Dim::symbol(element.variable);
    const Dim o = Dim::symbol(outer.variable);
    loop::Block body;
    add_store(body, o * run + start + within, loop::Scalar::load(region_.type(result()).dtype, entry_buffer(), o * length + within));
    table.body = wrap_loops(std::move(body), std::span<const Axis>(&element, 1), loop::LoopKind::Vector);
    loop::Block phase;
    phase.push_back({std::move(table)});
    add_phase(std::move(phase), {outer, block}, false);
  }

  void write_strided_entries() {
    const std::size_t axis = list_axis();
    const Shape& shape = result_shape();
    loop::TableLoop table = table_loop([&](const ir::Type& type, Dim offset) {
      std::vector<Dim> columns{type.shape[axis], offset};
      for (const Dim stride : ir::strides_of(type)) columns.push_back(stride);
      return columns;
    });
    Strides strides = ir::strides_of(region_.type(result()));
    for (Dim& stride : strides) stride = named(stride);
    Dim from = 0;
    Dim to = Dim::symbol(table.columns[1]) * strides[axis];
    std::vector<Axis> outer;
    std::vector<Axis> inner;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      const Axis loop{evaluator_.new_variable(), a == axis ? Dim::symbol(table.columns[0]) : shape[a]};
      from += Dim::symbol(loop.variable) * Dim::symbol(table.columns[a + 2]);
      to += Dim::symbol(loop.variable) * strides[a];
      (a == axis || a + 1 == shape.size() ? inner : outer).push_back(loop);
    }
    loop::Block body;
    add_store(body, to, loop::Scalar::load(region_.type(result()).dtype, entry_buffer(), from));
    table.body = wrap_loops(std::move(body), inner, loop::LoopKind::Vector);
    loop::Block phase;
    phase.push_back({std::move(table)});
    add_phase(std::move(phase), outer, false);
  }

  const ir::Graph& region_;
  const ir::Node& node_;
  const ir::Update& form_;
  Lowered& out_;
  Evaluator evaluator_;
};

}  // namespace

void lower_update(const ir::Graph& region, Lowered& out) { UpdateLowering(region, out).run(); }

}  // namespace resilin
