// src/resilin/codegen/evaluate.h -- Internal: the element of a region's value at an index, as a Scalar, pulled through Pointwise and View nodes.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "resilin/codegen/kernel.h"
#include "resilin/codegen/lower.h"
#include "resilin/ir/op.h"

namespace resilin {

/// The linear combination of an index and strides.
Dim linear_offset(std::span<const Dim> index, std::span<const Dim> strides);

/// Whose index is loaded (op and input), what it must satisfy, the position a failure reports, and how many indices are read in all.
struct IndexRequest {
  Lowered::CheckSite site;
  Dim element, count;
};

/// Pulls values of one region into statements and expressions.
///
/// Statements that an expression needs (Lets of loaded indices, Checks, Stores of kept rows) go to the current block. Expressions are remembered per block.
class Evaluator {
 public:
  Evaluator(const ir::Graph& region, Lowered& out);

  /// Starts a new block: what is emitted from here on goes there; nothing evaluated before is reused.
  void enter(loop::Block& block);

  /// The element in the value's own dtype.
  loop::Scalar value(ir::ValueId id, std::span<const Dim> index);
  /// The same in compute_dtype.
  loop::Scalar computed(ir::ValueId id, std::span<const Dim> index);
  /// Emits buffer[index] = value for a value that has memory (an output of the region or a destination).
  void store(ir::ValueId id, std::span<const Dim> index, const loop::Scalar& value);

  /// Makes every later evaluation of `id` give this expression, whatever the index (results of reductions).
  void bind(ir::ValueId id, const loop::Scalar& value) { bound_[id.index] = value; }
  /// Stores the element of `id` at `index` into `offset` of a new Row buffer of `elements`; later blocks load it from there instead of computing it.
  void keep_row(ir::ValueId id, std::span<const Dim> index, Dim offset, Dim elements);
  bool is_kept(ir::ValueId id) const { return kept_.contains(id.index); }

  int buffer(ir::ValueId id, loop::Buffer::Role role);
  int add_buffer(loop::Buffer buffer, ir::ValueId id);
  int new_local() { return local_count_++; }
  Symbol new_let_symbol() { return {'t', let_count_++}; }
  Symbol new_variable() { return {'i', variable_count_++}; }
  loop::Scalar number(const Number& number, DType dtype);
  void emit(loop::Statement statement) { block_->push_back(std::move(statement)); }
  void check(const loop::Scalar& ok, StatusCode code, int site, Dim element, const loop::Scalar& value);
  int check_site(const Lowered::CheckSite& site);
  /// See ViewContext::loaded_index.
  Dim loaded_index(ir::ValueId id, std::span<const Dim> position, const IndexRequest& request);

  const ir::Graph& region() const { return region_; }
  Facts& facts() { return facts_; }
  Dim simplify(Dim e) const { return facts_.simplify(e); }

 private:
  struct KeptRow {
    int buffer;
    Dim offset;
  };
  using Key = std::pair<int, std::vector<std::uintptr_t>>;  // a value and the words of its index, the mask in force first
  Key key(ir::ValueId id, std::span<const Dim> index) const;
  loop::Scalar pull(ir::ValueId id, std::span<const Dim> index);
  loop::Scalar view_element(const ir::Node& node, std::span<const Dim> index);
  /// A choice between bare loads reads both first, into Lets: inside of a choice each would be read under its own mask.
  loop::Scalar load_before_choosing(const loop::Scalar& formula);
  loop::Scalar conditions(const ir::ViewMap& map);

  const ir::Graph& region_;
  Lowered& out_;
  Facts facts_;
  loop::Block* block_ = nullptr;
  loop::Scalar active_;  // undefined: always; else where the current pull is not masked off
  std::map<Key, loop::Scalar> memo_;
  std::map<Key, Dim> loaded_;
  std::map<int, loop::Scalar> bound_;
  std::map<int, KeptRow> kept_;
  std::map<std::pair<int, int>, int> buffer_of_;  // (value, role)
  std::map<int, int> argument_of_;
  int local_count_ = 0;
  int let_count_ = 0;
  int variable_count_ = 0;
};

}  // namespace resilin
