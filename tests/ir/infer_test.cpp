// tests/ir/infer_test.cpp -- the questions type rules ask about sizes, with the exact words of refusals.
#include "resilin/ir/infer.h"

#include <doctest/doctest.h>

#include "tests/ir/test_ops.h"

namespace resilin::ir {
namespace {

Dim s(int index) { return Dim::symbol('s', index); }

/// A context of an op named "op" with the given inputs.
struct Question {
  std::vector<InputType> inputs;
  Facts facts;
  InferContext c{"op", inputs, Attrs().ref(), facts};
  explicit Question(std::vector<InputType> types = {}) : inputs(std::move(types)) {}
};

TEST_CASE("equal sizes are the same and unequal constants are refused") {
  Question q;
  CHECK(q.c.same(3, 3, "x") == Dim(3));
  CHECK(q.c.same(s(0), s(0), "x") == s(0));
  CHECK_THROWS_WITH_AS(q.c.same(3, 4, "inner sizes differ"), "op: inner sizes differ: 3 and 4; they must be equal", ShapeError);
  CHECK(q.c.checks().empty());
}

TEST_CASE("unknown sizes are assumed equal and checked at run time, once") {
  Question q;
  CHECK(q.c.same(s(0), s(1), "rows differ") == s(0));
  REQUIRE(q.c.checks().size() == 1);
  CHECK(q.c.checks()[0] == SizeCheck{s(0), s(1), "op: rows differ: s0 and s1; they must be equal"});
  CHECK(q.facts.proves_equal(s(0), s(1)));
  q.c.same(s(1), s(0), "again");
  CHECK(q.c.checks().size() == 1);
  CHECK(q.c.same(s(1), 7, "columns differ") == Dim(7));
  CHECK(q.c.checks().size() == 2);
  CHECK_THROWS_WITH_AS(q.c.same(s(0), 8, "x"), "op: x: s0 and 8; they must be equal", ShapeError);
}

TEST_CASE("sizes that facts tell apart are refused") {
  Question q;
  q.facts.set_range({'s', 0}, {1, 4});
  CHECK_THROWS_AS(q.c.same(s(0), 5, "x"), ShapeError);
  CHECK_THROWS_AS(q.c.same(s(0), s(0) + 1, "x"), ShapeError);
}

TEST_CASE("shapes broadcast from the right") {
  Question q;
  CHECK(q.c.broadcast(Shape{2, 1, 4}, Shape{3, 1}) == Shape{2, 3, 4});
  CHECK(q.c.broadcast(Shape{}, Shape{5}) == Shape{5});
  CHECK(q.c.broadcast(Shape{0}, Shape{1}) == Shape{0});
  CHECK(q.c.broadcast(Shape{s(0), 1}, Shape{1, s(1)}) == Shape{s(0), s(1)});
  CHECK(q.c.checks().empty());
  CHECK_THROWS_WITH_AS(q.c.broadcast(Shape{2, 3}, Shape{2, 4}),
                       "op: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1", ShapeError);
  CHECK_THROWS_WITH_AS(q.c.broadcast(Shape{3}, Shape{2, 4}),
                       "op: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1", ShapeError);
  CHECK_THROWS_AS(q.c.broadcast(Shape{0}, Shape{2}), ShapeError);
}

TEST_CASE("a symbol does not broadcast: it equals the other size") {
  Question q;
  CHECK(q.c.broadcast(Shape{s(0)}, Shape{4}) == Shape{4});
  REQUIRE(q.c.checks().size() == 1);
  CHECK(q.c.checks()[0] ==
        SizeCheck{s(0), 4, "op: The size of tensor a (s0) must match the size of tensor b (4) at non-singleton dimension 0"});
  q.facts.set_range({'s', 1}, {1, 1});
  CHECK(q.c.broadcast(Shape{s(1)}, Shape{9}) == Shape{9});
  CHECK(q.c.checks().size() == 1);
}

TEST_CASE("a rule that must decide on an unknown size names it") {
  Question q;
  CHECK(q.c.decide(true, s(0), 1, "is it 1"));
  CHECK_FALSE(q.c.decide(false, s(0), 1, "is it 1"));
  CHECK_THROWS_WITH_AS(q.c.decide(std::nullopt, s(0), 1, "is the last axis 1"),
                       "op: an unknown size would have to decide: is the last axis 1: the sizes are s0 and 1; a declared range or equality "
                       "of these symbols must settle it",
                       DataDependentError);
}

TEST_CASE("a fresh size needs someone to allot its symbol") {
  Question q;
  CHECK_THROWS_WITH_AS(q.c.fresh("the count", 0, s(0)),
                       "op: a size is known only after the op ran: the count lies in [0, s0]; it must run eagerly, not inside a graph",
                       DataDependentError);
  q.c.allot_symbol = [](std::string_view, Dim, Dim) { return s(9); };
  CHECK(q.c.fresh("the count", 0, s(0)) == s(9));
  CHECK(q.c.fresh_dims() == std::vector<Dim>{s(9)});
}

TEST_CASE("axes count from the end when negative") {
  Question q;
  CHECK(q.c.axis(-1, 3) == 2);
  CHECK_THROWS_WITH_AS(q.c.axis(2, 2), "op: Dimension out of range (expected to be in range of [-2, 1], but got 2)", IndexError);
}

TEST_CASE("pointwise rules take the dtype of the first tensor or of the numbers") {
  Question tensors({NumberKind::Float, Type{DType::I32, {3, 1}}, std::monostate{}, Type{DType::F64, {2}}});
  CHECK(infer_pointwise(tensors.c) == std::vector<Type>{{DType::I32, {3, 2}}});
  CHECK(infer_compare(tensors.c) == std::vector<Type>{{DType::Bool, {3, 2}}});
  Question numbers({NumberKind::Bool, NumberKind::Integer});
  CHECK(infer_pointwise(numbers.c) == std::vector<Type>{{DType::I64, {}}});
  Question booleans({NumberKind::Bool});
  CHECK(infer_pointwise(booleans.c) == std::vector<Type>{{DType::Bool, {}}});
  Question nothing;
  CHECK_THROWS_AS(infer_pointwise(nothing.c), InternalError);
  CHECK_THROWS_AS(tensors.c.type(0), InternalError);
}

TEST_CASE("an appended node leaves its checks, facts and fresh symbols in the graph") {
  Graph g;
  const ValueId a = g.add_input({DType::F32, {s(0)}});
  const ValueId b = g.add_input({DType::F32, {s(1)}});
  const ValueId sum = append(g, kAdd, {a, b});
  CHECK(g.checks().size() == 1);
  CHECK(g.facts().proves_equal(s(0), s(1)));
  const ValueId nonzero = append(g, kNonzero, {sum});
  CHECK(g.type(nonzero).shape == Shape{s(2), 1});
  CHECK(g.facts().proves_less_equal(s(2), s(0)));
  CHECK(g.facts().proves_less_equal(0, s(2)));
}

}  // namespace
}  // namespace resilin::ir
