// src/resilin/codegen/lower_rows.cpp -- Internal: lowers regions of Pointwise, View and Reduce nodes over one iteration space.
//
// For each row (a position on the axes that are not reduced) the region runs stage by stage: stage L holds the reductions whose inputs need the results
// of stage L-1, the last stage stores the outputs that have all axes. A value that two stages need and that is expensive is kept in a Row buffer.
#include "resilin/codegen/lower_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "resilin/codegen/formula_context.h"
#include "resilin/codegen/row_space.h"
#include "resilin/loop/rewrite.h"

namespace resilin {
namespace {

constexpr int kWorthKeeping = 8;  // operations; below, computing again is cheaper than a store and a load
constexpr int kRowLanes = 64;
constexpr int kColumnLanes = 4;
constexpr i64 kBlockColumns = 128;  // cache lines that one row of a block reads; even 4 KiB apart they fit a second-level cache

class RowLowering {
 public:
  RowLowering(const ir::Graph& region, const SizeClass& size_class, Lowered& out)
      : region_(region), size_class_(size_class), out_(out), evaluator_(region, out), space_(region, evaluator_) {
    find_levels();
    for (const ir::ValueId id : region_.outputs())
      (space_.has_reduction && space_.is_full(id) ? full_outputs_ : row_outputs_).push_back(id);
  }

  void run() {
    if (size_class_.long_rows && level_count_ == 1 && full_outputs_.empty()) {
      lower_in_chunks();
    } else {
      lower_whole_rows();
    }
  }

 private:
  void lower_whole_rows() {
    loop::Block row;
    evaluator_.enter(row);
    for (int level = 1; level <= level_count_; ++level) add_reductions(row, level);
    add_outputs(row);
    loop::Block* const blocks[] = {&row};
    merge_axes(space_.outer, blocks, evaluator_.facts());
    for (const std::size_t at : stages_) fill_loops(row[at]);
    if (!space_.has_reduction) block_columns(row);
    add_phase(std::move(row), space_.outer);
  }

  // --- which value needs what ----------------------------------------------------------------------------------------------------
  int& level_of(ir::ValueId id) { return level_[static_cast<std::size_t>(id.index)]; }

  void find_levels() {
    level_.assign(static_cast<std::size_t>(region_.value_count()), 0);
    for (const ir::Node& node : region_.nodes()) {
      int level = 0;
      for (const ir::Operand& operand : node.inputs) {
        if (const ir::ValueId* id = std::get_if<ir::ValueId>(&operand)) level = std::max(level, level_of(*id));
      }
      if (std::holds_alternative<ir::Reduce>(node.op->lower)) {
        ++level;
        nodes_of_level_[level].push_back(&node);
      }
      level_count_ = std::max(level_count_, level);
      for (const ir::ValueId id : node.outputs) level_of(id) = level;
    }
  }

  // Marks every Pointwise value of the full shape that computing `id` at the full index would compute.
  void mark_pulled(ir::ValueId id, std::vector<bool>& marked) const {
    if (marked[static_cast<std::size_t>(id.index)] || evaluator_.is_kept(id)) return;
    const ir::Node* node = region_.producer(id);
    if (node == nullptr || !std::holds_alternative<ir::Pointwise>(node->op->lower) || !space_.is_full(id)) return;
    marked[static_cast<std::size_t>(id.index)] = true;
    for (const ir::Operand& operand : node->inputs) {
      if (const ir::ValueId* input = std::get_if<ir::ValueId>(&operand)) mark_pulled(*input, marked);
    }
  }
  std::vector<bool> pulled_at(int level) {
    std::vector<bool> marked(static_cast<std::size_t>(region_.value_count()), false);
    for (const ir::Node* node : nodes_of_level_[level]) mark_pulled(std::get<ir::ValueId>(node->inputs[0]), marked);
    return marked;
  }
  std::vector<bool> pulled_after(int level) {
    std::vector<bool> marked(static_cast<std::size_t>(region_.value_count()), false);
    for (int later = level + 1; later <= level_count_; ++later) {
      for (const ir::Node* node : nodes_of_level_[later]) mark_pulled(std::get<ir::ValueId>(node->inputs[0]), marked);
    }
    for (const ir::ValueId id : full_outputs_) mark_pulled(id, marked);
    return marked;
  }

  // Consumers come before their inputs, so that what is only needed for a kept value is not kept itself.
  void keep_rows(int level) {
    if (!space_.rows_are_vectors || size_class_.long_rows) return;
    const std::vector<bool> now = pulled_at(level);
    Dim offset = 0;
    for (const Axis& axis : space_.reduced) offset = offset * axis.size + Dim::symbol(axis.variable);
    for (int v = region_.value_count(); v-- > 0;) {
      if (!now[static_cast<std::size_t>(v)] || !pulled_after(level)[static_cast<std::size_t>(v)]) continue;
      const Shape index = space_.index_of({v});
      if (loop::operation_count(evaluator_.value({v}, index)) < kWorthKeeping) continue;
      evaluator_.keep_row({v}, index, offset, product_of_sizes(space_.reduced));
    }
  }

  // --- stages --------------------------------------------------------------------------------------------------------------------
  int lanes() const { return space_.rows_are_vectors ? kRowLanes : kColumnLanes; }

  const SmallVector<i64, 5>& axes_of(const ir::Node& node) {
    SmallVector<i64, 5>& axes = axes_of_[node.outputs[0].index];
    if (axes.empty()) axes = std::get<ir::Reduce>(node.op->lower).axes(node.attrs.ref(), static_cast<i64>(space_.shape.size()));
    return axes;
  }

  // Several combiners side by side: Input numbers are shifted so that all lefts come first, then all rights.
  static loop::Combiner joined(const std::vector<loop::Combiner>& parts) {
    int total = 0;
    for (const loop::Combiner& part : parts) total += static_cast<int>(part.init.size());
    loop::Combiner all;
    int before = 0;
    for (const loop::Combiner& part : parts) {
      const int count = static_cast<int>(part.init.size());
      const auto shifted = [&](const loop::Scalar& leaf) {
        if (leaf.code() != loop::Code::Input) return leaf;
        const bool right = leaf.index() >= count;
        return loop::Scalar::input(leaf.dtype(), right ? leaf.index() - count + before + total : leaf.index() + before);
      };
      for (std::size_t c = 0; c < part.init.size(); ++c) {
        all.init.push_back(part.init[c]);
        all.element.push_back(part.element[c]);
        all.combine.push_back(loop::substitute_leaves(part.combine[c], shifted));
      }
      before += count;
    }
    return all;
  }

  // One Reduce statement for all reductions of a level; its loops are filled in when the axes are merged.
  loop::Reduce reductions(int level) {
    loop::Reduce statement;
    evaluator_.enter(statement.body);
    std::vector<loop::Combiner> parts;
    for (const ir::Node* node : nodes_of_level_[level]) {
      ReduceEvaluation context(evaluator_, *node, space_.index, axes_of(*node));
      parts.push_back(std::get<ir::Reduce>(node->op->lower).build(context));
      component_count_[node->outputs[0].index] = parts.back().init.size();
    }
    keep_rows(level);
    statement.combiner = joined(parts);
    statement.lanes = lanes();
    for (std::size_t c = 0; c < statement.combiner.init.size(); ++c) statement.results.push_back(evaluator_.new_local());
    return statement;
  }

  static std::vector<loop::Scalar> locals(const loop::Combiner& combiner, std::span<const int> results) {
    std::vector<loop::Scalar> out;
    for (std::size_t c = 0; c < results.size(); ++c) out.push_back(loop::Scalar::local(combiner.init[c].dtype(), results[c]));
    return out;
  }

  // Turns the reduced components, in order of the level's nodes, into the nodes' outputs.
  void finish(int level, std::span<const loop::Scalar> components) {
    std::size_t at = 0;
    for (const ir::Node* node : nodes_of_level_[level]) {
      ReduceEvaluation context(evaluator_, *node, space_.index, axes_of(*node));
      const std::size_t count = component_count_[node->outputs[0].index];
      const std::vector<loop::Scalar> results = std::get<ir::Reduce>(node->op->lower).finish(context, components.subspan(at, count));
      for (std::size_t o = 0; o < results.size(); ++o) {
        evaluator_.bind(node->outputs[o], loop::cast(results[o], region_.type(node->outputs[o]).dtype));
      }
      at += count;
    }
  }

  void add_reductions(loop::Block& row, int level) {
    loop::Reduce statement = reductions(level);
    const std::vector<loop::Scalar> results = locals(statement.combiner, statement.results);
    stages_.push_back(row.size());
    row.push_back({std::move(statement)});
    evaluator_.enter(row);
    finish(level, results);
  }

  void add_outputs(loop::Block& row) {
    if (!full_outputs_.empty()) {
      loop::Loop loops;
      evaluator_.enter(loops.body);
      store_all(full_outputs_);
      stages_.push_back(row.size());
      row.push_back({std::move(loops)});
    }
    evaluator_.enter(row);
    store_all(row_outputs_);
  }

  // Memory that is written is read by nothing after: where there are several stores into memory of inputs, all values come first.
  void store_all(const std::vector<ir::ValueId>& ids) {
    const auto is_in_place = [&](ir::ValueId id) {
      const ir::Node* node = region_.producer(id);
      return node != nullptr && node->destination.defined();
    };
    const bool values_first = ids.size() > 1 && std::any_of(ids.begin(), ids.end(), is_in_place);
    std::vector<loop::Scalar> values;
    for (const ir::ValueId id : ids) {
      values.push_back(evaluator_.value(id, space_.index_of(id)));
      if (!values_first) continue;
      const int local = evaluator_.new_local();
      const DType dtype = values.back().dtype();
      evaluator_.emit({loop::Let{local, std::exchange(values.back(), loop::Scalar::local(dtype, local)), {}}});
    }
    for (std::size_t o = 0; o < ids.size(); ++o) evaluator_.store(ids[o], space_.index_of(ids[o]), values[o]);
  }

  // --- loops ---------------------------------------------------------------------------------------------------------------------
  // Each stage merges the reduced axes for itself: where results go must not change the order in which a reduction sums.
  void fill_loops(loop::Statement& statement) {
    loop::Block alone;
    alone.push_back(std::move(statement));
    std::vector<Axis> axes = space_.reduced;
    loop::Block* const blocks[] = {&alone};
    merge_axes(axes, blocks, evaluator_.facts());
    if (loop::Reduce* reduce = std::get_if<loop::Reduce>(&alone[0].value)) {
      for (const Axis& axis : axes) {
        reduce->variables.push_back(axis.variable);
        reduce->extents.push_back(axis.size);
      }
    } else {
      const loop::LoopKind kind = space_.rows_are_vectors ? loop::LoopKind::Vector : loop::LoopKind::Serial;
      alone = wrap_loops(std::move(std::get<loop::Loop>(alone[0].value).body), axes, kind);
    }
    statement = std::move(alone[0]);
  }

  void add_phase(loop::Block row, const std::vector<Axis>& outer) {
    out_.nest.phases.push_back(parallel_phase(std::move(row), outer, !space_.rows_are_vectors, evaluator_.new_variable()));
  }

  // The outer axis along which memory runs where the last axis strides over it, as in the copy of a transposed tensor; else the last axis.
  std::size_t axis_read_across(const loop::Block& row) const {
    const auto coefficient = [](Dim e, const Axis& axis) {
      const std::optional<Affine> affine = affine_in(e, axis.variable);
      return affine ? affine->coefficient : Dim(0);
    };
    const std::size_t last = space_.outer.size() - 1;
    std::size_t found = last;
    loop::visit_dims(row, [&](Dim e) {
      const Dim step = coefficient(e, space_.outer[last]);
      if (step == 0 || step == 1) return;
      for (std::size_t a = 0; a < found; ++a) {
        if (coefficient(e, space_.outer[a]) == 1) found = a;
      }
    });
    return found;
  }

  // Such a row reads one cache line per element. In blocks of columns the lines are still there when the next rows read their other elements.
  void block_columns(loop::Block& row) {
    if (space_.outer.size() < 2) return;
    const std::size_t across = axis_read_across(row);
    const Axis whole = space_.outer.back();
    if (across + 1 == space_.outer.size()) return;
    const Axis block{evaluator_.new_variable(), ceil_div(whole.size, kBlockColumns)};
    const Symbol inside = evaluator_.new_variable();
    const Dim begin = Dim::symbol(block.variable) * kBlockColumns;
    loop::map_dims(row, [&](Dim e) {
      return substitute(e, [&](Symbol s) { return s == whole.variable ? begin + Dim::symbol(inside) : Dim::symbol(s); });
    });
    space_.outer.back() = {inside, min(Dim(kBlockColumns), whole.size - begin)};
    space_.outer.insert(space_.outer.begin() + static_cast<std::ptrdiff_t>(across), block);
  }

  // --- long reductions: chunks of a constant size, then the reduction of the chunks -----------------------------------------------
  void lower_in_chunks() {
    loop::Block parts;
    parts.push_back({reductions(1)});
    loop::Block row;
    row.push_back({second_reduction(std::get<loop::Reduce>(parts[0].value))});
    evaluator_.enter(row);
    finish(1, locals(std::get<loop::Reduce>(row[0].value).combiner, std::get<loop::Reduce>(row[0].value).results));
    add_outputs(row);

    loop::Block* const blocks[] = {&parts, &row};
    merge_axes(space_.outer, blocks, evaluator_.facts());
    merge_axes(space_.reduced, blocks, evaluator_.facts());
    fill_loops(parts[0]);
    const Axis chunk = cut_into_chunks(parts);
    store_partials(parts, std::get<loop::Reduce>(row[0].value), chunk);
    std::vector<Axis> with_chunk = space_.outer;
    with_chunk.insert(with_chunk.begin(), chunk);
    add_phase(std::move(parts), with_chunk);
    add_phase(std::move(row), space_.outer);
  }

  loop::Reduce second_reduction(const loop::Reduce& first) {
    loop::Reduce second;
    second.combiner = first.combiner;
    second.lanes = lanes();
    for (std::size_t c = 0; c < first.results.size(); ++c) second.results.push_back(evaluator_.new_local());
    return second;
  }

  // Lets the outermost reduced axis run over one chunk only; gives back the axis of chunks.
  Axis cut_into_chunks(loop::Block& parts) {
    const Axis whole = space_.reduced[0];
    const std::span<const Axis> inner = std::span<const Axis>(space_.reduced).subspan(1);
    const Dim rows = inner.empty() ? Dim(kChunkElements) : max(Dim(1), floordiv(Dim(kChunkElements), product_of_sizes(inner)));
    const Axis chunk{evaluator_.new_variable(), ceil_div(whole.size, rows)};
    const Symbol inside = evaluator_.new_variable();
    const Dim begin = Dim::symbol(chunk.variable) * rows;
    loop::map_dims(parts, [&](Dim e) {
      return substitute(e, [&](Symbol s) { return s == whole.variable ? begin + Dim::symbol(inside) : Dim::symbol(s); });
    });
    loop::Reduce& reduce = std::get<loop::Reduce>(parts[0].value);
    reduce.variables[0] = inside;
    reduce.extents[0] = min(rows, whole.size - begin);
    return chunk;
  }

  void store_partials(loop::Block& parts, loop::Reduce& second, const Axis& chunk) {
    const loop::Reduce first = std::get<loop::Reduce>(parts[0].value);
    Dim place = Dim::symbol(chunk.variable);
    for (const Axis& axis : space_.outer) place = place * axis.size + Dim::symbol(axis.variable);
    second.variables = {chunk.variable};
    second.extents = {chunk.size};
    for (std::size_t c = 0; c < first.results.size(); ++c) {
      const DType dtype = first.combiner.init[c].dtype();
      const int buffer = evaluator_.add_buffer({"", dtype, loop::Buffer::Role::Partial, chunk.size * product_of_sizes(space_.outer)}, {});
      parts.push_back({loop::Store{buffer, place, loop::Scalar::local(dtype, first.results[c]), loop::Scalar()}});
      second.combiner.element[c] = loop::Scalar::load(dtype, buffer, place);
    }
  }

  const ir::Graph& region_;
  const SizeClass size_class_;
  Lowered& out_;
  Evaluator evaluator_;
  RowSpace space_;
  std::vector<ir::ValueId> full_outputs_, row_outputs_;
  std::vector<int> level_;  // per value: how many reductions lie before it, one after another
  int level_count_ = 0;
  std::map<int, std::vector<const ir::Node*>> nodes_of_level_;  // the Reduce nodes
  std::map<int, SmallVector<i64, 5>> axes_of_;                  // per first output of a Reduce node
  std::map<int, std::size_t> component_count_;                  // likewise
  std::vector<std::size_t> stages_;                             // statements of the row's block whose loops are filled in last
};

}  // namespace

void lower_rows(const ir::Graph& region, const SizeClass& size_class, Lowered& out) { RowLowering(region, size_class, out).run(); }

}  // namespace resilin
