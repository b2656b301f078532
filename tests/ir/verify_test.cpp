// tests/ir/verify_test.cpp -- each rule of graphs, broken once.
#include <doctest/doctest.h>

#include "resilin/ir/graph.h"

#include "tests/ir/test_ops.h"

namespace resilin::ir {
namespace {

Dim s(int index) { return Dim::symbol('s', index); }

/// The message of a graph with the input f32[s0, 4] and whatever `add` appends.
template <class Add>
std::string violation(Add add) {
  Graph g;
  g.add_input({DType::F32, {s(0), 4}});
  add(g);
  try {
    verify(g);
  } catch (const InternalError& error) {
    const std::string_view what = error.what();
    const std::size_t from = what.find("verify: ");
    return std::string(what.substr(from, what.rfind("; this is a bug") - from));
  }
  return "(valid)";
}

const Type kMatrix{DType::F32, {s(0), 4}};

TEST_CASE("a valid graph passes") {
  CHECK(violation([](Graph& g) {
          const ValueId y = append(g, kRelu, {ValueId{0}});
          g.add_node({.op = &kAdd, .inputs = {y, 1.0}, .destination = {0}}, {kMatrix});
          append(g, kClamp, {y, std::monostate{}, g.add_number(NumberKind::Float)});
          append(g, kNonzero, {y});
          append(g, kStackRows, {y, y, ValueId{0}});
          g.set_outputs({y});
        }) == "(valid)");
}

TEST_CASE("undefined and later values are found") {
  CHECK(violation([](Graph& g) { g.add_node({.op = &kRelu, .inputs = {ValueId{}}}, {kMatrix}); }) ==
        "verify: node 0 (relu): value %-1 is not defined");
  CHECK(violation([](Graph& g) { g.add_node({.op = &kRelu, .inputs = {ValueId{7}}}, {kMatrix}); }) ==
        "verify: node 0 (relu): value %7 is not defined");
  CHECK(violation([](Graph& g) { g.add_node({.op = &kRelu, .inputs = {ValueId{1}}}, {kMatrix}); }) ==
        "verify: node 0 (relu): value %1 comes later");
  CHECK(violation([](Graph& g) { g.set_outputs({{3}}); }) == "verify: return: value %3 is not defined");
  CHECK(violation([](Graph& g) { g.add_node({.inputs = {ValueId{0}}}, {kMatrix}); }) == "verify: node 0: it has no op");
}

TEST_CASE("wrong operands are found") {
  CHECK(violation([](Graph& g) { g.add_node({.op = &kAdd, .inputs = {ValueId{0}}}, {kMatrix}); }) ==
        "verify: node 0 (add): it has 1 operands");
  CHECK(violation([](Graph& g) {
          g.add_node({.op = &kAdd, .inputs = {ValueId{0}, std::monostate{}}}, {kMatrix});
        }) == "verify: node 0 (add): input b is not optional");
  CHECK(violation([](Graph& g) {
          g.add_node({.op = &kAdd, .inputs = {ValueId{0}, Number::argument(NumberKind::Float, 0)}}, {kMatrix});
        }) == "verify: node 0 (add): number v0:f64 is none of the graph's");
  CHECK(violation([](Graph& g) {
          g.add_number(NumberKind::Integer);
          g.add_node({.op = &kAdd, .inputs = {ValueId{0}, Number::argument(NumberKind::Float, 0)}}, {kMatrix});
        }) == "verify: node 0 (add): number v0:f64 has another kind in the graph");
  CHECK(violation([](Graph& g) {
          g.add_node({.op = &kScale, .attrs = attrs_of(ScaleAttrs{Number::argument(NumberKind::Float, 0), {}, ""}), .inputs = {ValueId{0}}},
                     {kMatrix});
        }) == "verify: node 0 (scale): number v0:f64 is none of the graph's");
}

TEST_CASE("attributes of another op are found") {
  CHECK(violation([](Graph& g) {
          g.add_node({.op = &kRelu, .attrs = attrs_of(SumAttrs{}), .inputs = {ValueId{0}}}, {kMatrix});
        }).starts_with("verify: node 0 (relu): the attributes are a "));
  CHECK(violation([](Graph& g) {
          g.add_node({.op = &kSum, .inputs = {ValueId{0}}}, {kMatrix});
        }).starts_with("verify: node 0 (sum): the attributes are a "));
}

TEST_CASE("symbols of another space are found") {
  CHECK(violation([](Graph& g) {
          g.add_node({.op = &kRelu, .inputs = {ValueId{0}}}, {{DType::F32, {Dim::symbol('i', 0), 4}}});
        }) == "verify: node 0 (relu): symbol i0 is none of the graph's");
  CHECK(violation([](Graph& g) {
          g.add_node({.op = &kExpand, .attrs = attrs_of(ExpandAttrs{{Dim::symbol('t', 0), s(0), 4}}), .inputs = {ValueId{0}}}, {kMatrix});
        }) == "verify: node 0 (expand): symbol t0 is none of the graph's");
}

TEST_CASE("types that infer does not give are found") {
  CHECK(violation([](Graph& g) {
          g.add_node({.op = &kRelu, .inputs = {ValueId{0}}}, {{DType::F64, {s(0), 4}}});
        }) == "verify: node 0 (relu): output 0 is f64[s0, 4], infer gives f32[s0, 4]");
  CHECK(violation([](Graph& g) {
          g.add_node({.op = &kRelu, .inputs = {ValueId{0}}}, {{DType::F32, {s(0), 5}}});
        }) == "verify: node 0 (relu): output 0 is f32[s0, 5], infer gives f32[s0, 4]");
  CHECK(violation([](Graph& g) {
          g.add_node({.op = &kRelu, .inputs = {ValueId{0}}}, {{DType::F32, {s(0)}}});
        }) == "verify: node 0 (relu): output 0 is f32[s0], infer gives f32[s0, 4]");
  CHECK(violation([](Graph& g) { g.add_node({.op = &kSort, .inputs = {ValueId{0}}}, {kMatrix}); }) ==
        "verify: node 0 (sort): it has 1 outputs, infer gives 2");
  CHECK(violation([](Graph& g) {
          const ValueId other = append(g, kSum, {ValueId{0}}, attrs_of(SumAttrs{{0}, false, {}}));
          const ValueId rows = append(g, kExpand, {other}, attrs_of(ExpandAttrs{{3, 4}}));
          const ValueId columns = append(g, kExpand, {other}, attrs_of(ExpandAttrs{{5, 4}}));
          g.add_node({.op = &kAdd, .inputs = {rows, columns}}, {{DType::F32, {3, 4}}});
        }) ==
        "verify: node 3 (add): its operands do not fit: add: The size of tensor a (3) must match the size of tensor b (5) at non-singleton "
        "dimension 0");
  CHECK(violation([](Graph& g) {
          g.add_node({.op = &kRelu, .inputs = {ValueId{0}}}, {{DType::F32, {s(0), 4}, Strides{1}}});
        }) == "verify: node 0 (relu): type f32[s0, 4]@[1] has not one stride a size");
}

TEST_CASE("destinations of another dtype or shape are found") {
  CHECK(violation([](Graph& g) {
          g.add_node({.op = &kLess, .inputs = {ValueId{0}, 1.0}, .destination = {0}}, {{DType::Bool, {s(0), 4}}});
        }) == "verify: node 0 (less): the destination is f32[s0, 4], the result bool[s0, 4]");
  CHECK(violation([](Graph& g) {
          g.add_node({.op = &kSum, .attrs = attrs_of(SumAttrs{{0}, true, {}}), .inputs = {ValueId{0}}, .destination = {0}},
                     {{DType::F32, {1, 4}}});
        }) == "verify: node 0 (sum): the destination is f32[s0, 4], the result f32[1, 4]");
  CHECK(violation([](Graph& g) {
          g.add_node({.op = &kSum, .attrs = attrs_of(SumAttrs{{0}, false, {}}), .inputs = {ValueId{0}}, .destination = {0}},
                     {{DType::F32, {4}}});
        }) == "verify: node 0 (sum): the destination is f32[s0, 4], the result f32[4]");
  CHECK(violation([](Graph& g) { g.add_node({.op = &kRelu, .inputs = {ValueId{0}}, .destination = {1}}, {kMatrix}); }) ==
        "verify: node 0 (relu): destination %1 comes later");
  CHECK(violation([](Graph& g) {
          g.add_node({.op = &kSort, .inputs = {ValueId{0}}, .destination = {0}}, {kMatrix, {DType::I64, {s(0), 4}}});
        }) == "verify: node 0 (sort): a destination needs one output, there are 2");
}

TEST_CASE("regions are verified too") {
  CHECK(violation([](Graph& g) {
          const std::shared_ptr<Graph> region = std::make_shared<Graph>();
          region->set_outputs({{0}});
          g.add_node({.op = &kCond, .inputs = {ValueId{0}, ValueId{0}}, .regions = {region}}, {kMatrix});
        }) == "verify: return: value %0 is not defined");
}

}  // namespace
}  // namespace resilin::ir
