// tests/ir/graph_test.cpp -- building graphs and renaming their symbols.
#include "resilin/ir/graph.h"

#include <doctest/doctest.h>

#include "tests/ir/test_ops.h"

namespace resilin::ir {
namespace {

Dim s(int index) { return Dim::symbol('s', index); }

TEST_CASE("values are numbered in order and know who makes them") {
  Graph g;
  const ValueId x = g.add_input({DType::F32, {s(0)}}, "x");
  const ValueId y = append(g, kRelu, {x});
  const std::vector<ValueId> sorted = append_inferred(g, {.op = &kSort, .inputs = {y}});
  CHECK(x == ValueId{0});
  CHECK(y == ValueId{1});
  CHECK(sorted == std::vector<ValueId>{{2}, {3}});
  CHECK(g.value_count() == 4);
  CHECK(g.type({3}) == Type{DType::I64, {s(0)}});
  CHECK(g.producer(x) == nullptr);
  CHECK(g.producer({3}) == &g.nodes()[1]);
  CHECK(g.input_name(x) == "x");
  CHECK_THROWS_AS(g.add_input({DType::F32, {}}), InternalError);
}

TEST_CASE("symbols in no input are integer parameters") {
  Graph g;
  const Dim n = g.add_symbol();
  g.add_input({DType::F32, {s(4)}, Strides{s(2)}});
  append(g, kExpand, {ValueId{0}}, attrs_of(ExpandAttrs{{s(7), s(4)}}));
  CHECK(n == s(0));
  CHECK(g.integer_parameters() == std::vector<Symbol>{{'s', 0}, {'s', 7}});  // s1, s3, s5 and s6 were never declared
  CHECK(g.symbol_count() == 8);
  CHECK(g.add_symbol() == s(8));
  CHECK(g.facts().range(s(4)) == Range{0, Range::kHighest});
  CHECK(g.add_number(NumberKind::Float) == Number::argument(NumberKind::Float, 0));
  CHECK(g.add_number(NumberKind::Bool) == Number::argument(NumberKind::Bool, 1));
}

TEST_CASE("renumbering names symbols in the order of the inputs, then of the integer parameters") {
  Graph g;
  g.add_input({DType::F32, {s(5), s(3)}, Strides{s(9), 1}});
  g.add_input({DType::F32, {s(3) * s(1)}});
  g.facts().set_range({'s', 3}, {2, 64});
  g.facts().set_multiple({'s', 9}, 8);
  g.facts().set_range({'s', 6}, {1, 3});  // none of the graph's
  g.add_check({s(5), s(3), "why"});
  const ValueId y = append(g, kExpand, {ValueId{0}}, attrs_of(ExpandAttrs{{s(8), s(5), s(3)}}));
  g.set_outputs({y});

  std::vector<int> old;
  const Graph r = renumber(g, &old);
  // Products keep their factors sorted, so s1 stands before s3.
  CHECK(old == std::vector<int>{5, 3, 9, 1, 8});
  CHECK(r.symbol_count() == 5);
  CHECK(r.type({0}) == Type{DType::F32, {s(0), s(1)}, Strides{s(2), 1}});
  CHECK(r.type({1}).shape == Shape{s(1) * s(3)});
  CHECK(r.type(y).shape == Shape{s(4), s(0), s(1)});
  CHECK(r.nodes()[0].attrs.as<ExpandAttrs>().shape == Shape{s(4), s(0), s(1)});
  CHECK(r.checks()[0] == SizeCheck{s(0), s(1), "why"});
  CHECK(r.facts().range(s(1)) == Range{2, 64});
  CHECK(r.facts().proves_multiple(s(2), 8));
  CHECK(r.integer_parameters() == std::vector<Symbol>{{'s', 4}});
  CHECK(r.outputs() == g.outputs());
}

TEST_CASE("a symbol whose equal is not in the graph keeps its range") {
  Graph g;
  g.facts().set_range({'s', 1}, {2, 9});
  g.facts().assume_equal(s(3), s(1));
  g.add_input({DType::F32, {s(3)}});
  CHECK(renumber(g, nullptr).facts().range(s(0)) == Range{2, 9});
}

TEST_CASE("a graph without nodes keeps what the caller binds") {
  Graph g;
  const ValueId x = g.add_input({DType::F32, {s(0)}});
  const Dim n = g.add_symbol({1, 5});
  const Number v = g.add_number(NumberKind::Integer);
  g.set_outputs({append(g, kAdd, {x, v})});
  const Graph empty = g.without_nodes();
  CHECK(empty.nodes().empty());
  CHECK(empty.outputs().empty());
  CHECK(empty.value_count() == 1);
  CHECK(empty.numbers() == g.numbers());
  CHECK(empty.integer_parameters() == std::vector<Symbol>{n.as_symbol()});
  CHECK(empty.facts().range(n) == Range{1, 5});
}

}  // namespace
}  // namespace resilin::ir
