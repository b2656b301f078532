// src/resilin/codegen/formula_context.h -- Internal: what formulas of a node see while a region is lowered.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "resilin/codegen/evaluate.h"

namespace resilin {

/// The part of a FormulaContext that is the same for every form.
template <class Base>
class NodeContext : public Base {
 public:
  NodeContext(Evaluator& evaluator, const ir::Node& node, Dim element) : evaluator_(evaluator), node_(node), element_(element) {}

  int input_count() const override { return static_cast<int>(node_.inputs.size()); }
  DType input_dtype(int input) const override {
    if (const ir::ValueId* id = std::get_if<ir::ValueId>(&operand(input))) return evaluator_.region().type(*id).dtype;
    if (const Number* n = std::get_if<Number>(&operand(input))) return ir::dtype_of(n->kind());
    throw InternalError(cat(node_.op->name, ": formula asks for absent input ", input));
  }
  const Shape& input_shape(int input) const override {
    static const Shape kScalar;
    if (const ir::ValueId* id = std::get_if<ir::ValueId>(&operand(input))) return evaluator_.region().type(*id).shape;
    return kScalar;
  }
  DType output_dtype(int output) const override { return evaluator_.region().type(node_.outputs[static_cast<std::size_t>(output)]).dtype; }
  const Shape& output_shape(int output) const override {
    return evaluator_.region().type(node_.outputs[static_cast<std::size_t>(output)]).shape;
  }
  ir::AttrsRef attrs_ref() const override { return node_.attrs.ref(); }
  loop::Scalar number(const Number& number, DType dtype) override { return evaluator_.number(number, dtype); }
  void check(const loop::Scalar& ok, StatusCode code, int operand, const loop::Scalar& value) override {
    const int site = evaluator_.check_site({node_.op, operand, 0, 0});
    evaluator_.check(ok, code, site, element_, value);
  }

 protected:
  const ir::Operand& operand(int input) const { return node_.inputs[static_cast<std::size_t>(input)]; }
  Evaluator& evaluator_;
  const ir::Node& node_;
  Dim element_;
};

class PointwiseEvaluation : public NodeContext<ir::PointwiseContext> {
 public:
  PointwiseEvaluation(Evaluator& evaluator, const ir::Node& node, std::span<const Dim> index, Dim element)
      : NodeContext(evaluator, node, element), index_(index) {}
  loop::Scalar input(int input) override;
  Dim element() override { return element_; }

 private:
  DType number_dtype() const;
  std::span<const Dim> index_;
};

/// Reductions and scans; position and count are over the reduced axes.
class ReduceEvaluation : public NodeContext<ir::ReduceContext> {
 public:
  ReduceEvaluation(Evaluator& evaluator, const ir::Node& node, std::span<const Dim> index, std::span<const i64> axes);
  loop::Scalar input() override { return evaluator_.computed(std::get<ir::ValueId>(operand(0)), index_); }
  Dim position() override { return position_; }
  Dim count() override { return count_; }

 private:
  std::span<const Dim> index_;
  Dim position_;
  Dim count_ = 1;
};

class UpdateEvaluation : public NodeContext<ir::UpdateContext> {
 public:
  UpdateEvaluation(Evaluator& evaluator, const ir::Node& node, std::span<const Dim> index, Dim element)
      : NodeContext(evaluator, node, element), index_(index) {}
  std::span<const Dim> index() override { return index_; }
  Dim loaded_index(int input, std::span<const Dim> position, Dim low, Dim high) override;
  int entry() override { return entry_; }
  Dim entry_offset() override { return entry_offset_; }
  void set_entry(int entry, Dim offset) {
    entry_ = entry;
    entry_offset_ = offset;
  }

 private:
  std::span<const Dim> index_;
  int entry_ = 0;
  Dim entry_offset_ = 0;
};

}  // namespace resilin
