// tests/ir/rewrite_test.cpp -- replacing nodes, removing dead ones, merging equal ones.
#include "resilin/ir/rewrite.h"

#include <doctest/doctest.h>

#include "tests/ir/test_ops.h"

namespace resilin::ir {
namespace {

Graph read(std::string_view text) { return parse(text, find_test_op); }
const Replace kKeep = [](Graph&, const Node&, std::span<const Operand>) { return std::nullopt; };

constexpr std::string_view kText =
    "graph(%0: f32[s0], %1: f32[s1]) integers(s2) numbers(v0: f64) {\n"
    "  fact s0 in [2, 9]\n"
    "  check s1 = s0 : \"m\"\n"
    "  %2: f32[s0] = add(%0, v0)\n"
    "  %3: f32[s0] = relu(%2)\n"
    "  %4: f32[s0] = relu(%3)\n"
    "  %5: f32[s0] = add(%4, %3) into %0\n"
    "  %6: f32[s2, s0] = expand(%5) {shape=[s2, s0]}\n"
    "  return %6, %4\n"
    "}\n";

TEST_CASE("a rewrite that replaces nothing gives the same graph") { CHECK(print(rewrite(read(kText), kKeep)) == kText); }

TEST_CASE("a node may be replaced by its operand, by new nodes or by a number") {
  const Graph g = read(kText);
  // relu(relu(x)) = relu(x)
  const Graph once = rewrite(g, [](Graph& out, const Node& node, std::span<const Operand> inputs) -> std::optional<std::vector<Operand>> {
    if (node.op != &kRelu) return std::nullopt;
    const Node* producer = out.producer(std::get<ValueId>(inputs[0]));
    if (producer == nullptr || producer->op != &kRelu) return std::nullopt;
    return std::vector<Operand>{inputs[0]};
  });
  CHECK(once.nodes().size() == 4);
  CHECK(std::get<ValueId>(once.nodes()[2].inputs[0]) == std::get<ValueId>(once.nodes()[2].inputs[1]));
  verify(once);

  const Graph twice = rewrite(g, [](Graph& out, const Node& node, std::span<const Operand> inputs) -> std::optional<std::vector<Operand>> {
    if (node.op != &kRelu) return std::nullopt;
    return std::vector<Operand>{append(out, kClamp, {append(out, kScale, {inputs[0]}, attrs_of(ScaleAttrs{})), 0.0, std::monostate{}})};
  });
  CHECK(twice.nodes().size() == 7);
  verify(twice);

  const Graph folded = rewrite(read("graph(%0: f32[2]) {\n %1: f64[] = add(1.0, 2.0)\n %2: f32[2] = add(%0, %1)\n return %2 }"),
                               [](Graph&, const Node& node, std::span<const Operand> inputs) -> std::optional<std::vector<Operand>> {
                                 const Number* a = std::get_if<Number>(&inputs[0]);
                                 const Number* b = std::get_if<Number>(&inputs[1]);
                                 if (node.op != &kAdd || a == nullptr || b == nullptr) return std::nullopt;
                                 return std::vector<Operand>{Number(a->as_double() + b->as_double())};
                               });
  CHECK(print(folded) == "graph(%0: f32[2]) {\n  %1: f32[2] = add(%0, 0x1.8p+1)\n  return %1\n}\n");
}

TEST_CASE("a removed value must have no users and an output must stay a tensor") {
  const Graph g = read("graph(%0: f32[]) {\n %1: f32[] = relu(%0)\n %2: f32[] = relu(%1)\n return %2 }");
  const auto removes = [&](int which) {
    int next = 0;
    return rewrite(g, [&](Graph&, const Node&, std::span<const Operand>) -> std::optional<std::vector<Operand>> {
      if (next++ != which) return std::nullopt;
      return std::vector<Operand>(1);
    });
  };
  CHECK_THROWS_AS(removes(0), InternalError);
  CHECK_THROWS_AS(removes(1), InternalError);
  CHECK_THROWS_AS(rewrite(g, [](Graph&, const Node&, std::span<const Operand>) { return std::vector<Operand>{1.0}; }), InternalError);
  CHECK_THROWS_AS(rewrite(g, [](Graph&, const Node&, std::span<const Operand>) { return std::vector<Operand>{}; }), InternalError);
}

TEST_CASE("dead nodes go; writes, Externs and what they need stay") {
  const Graph g = read(
      "graph(%0: f32[s0], %1: f32[s0]) {\n"
      "  %2: f32[s0] = relu(%0)\n"
      "  %3: f32[s0] = relu(%2)\n"
      "  %4: f32[s0] = relu(%1)\n"
      "  %5: f32[s0], %6: i64[s0] = sort(%1)\n"
      "  %7: f32[s0] = add(%4, 0x1p+0) into %0\n"
      "  = print(%6)\n"
      "  %8: f32[s0] = relu(%1)\n"
      "  return %8\n"
      "}\n");
  const Graph live = dead_code_eliminate(g);
  CHECK(print(live) ==
        "graph(%0: f32[s0], %1: f32[s0]) {\n"
        "  %2: f32[s0] = relu(%1)\n"
        "  %3: f32[s0], %4: i64[s0] = sort(%1)\n"
        "  %5: f32[s0] = add(%2, 0x1p+0) into %0\n"
        "  = print(%4)\n"
        "  %6: f32[s0] = relu(%1)\n"
        "  return %6\n"
        "}\n");
  CHECK(print(dead_code_eliminate(live)) == print(live));
}

TEST_CASE("equal applications become one, but not across a write") {
  const Graph g = read(
      "graph(%0: f32[s0], %1: f32[s0]) {\n"
      "  %2: f32[s0] = relu(%0)\n"
      "  %3: f32[s0] = relu(%0)\n"
      "  %4: f32[s0] = add(%2, %3)\n"
      "  %5: f32[s0] = add(%3, %2)\n"
      "  %6: f32[1] = sum(%5) {axes=[0], keepdim=true}\n"
      "  %7: f32[] = sum(%4) {axes=[0]}\n"
      "  %8: f32[s0] = add(%1, 0x1p+0) into %0\n"
      "  %9: f32[s0] = add(%1, 0x1p+0) into %0\n"
      "  %10: f32[s0] = relu(%0)\n"
      "  return %6, %7, %9, %10\n"
      "}\n");
  CHECK(print(eliminate_common(g)) ==
        "graph(%0: f32[s0], %1: f32[s0]) {\n"
        "  %2: f32[s0] = relu(%0)\n"
        "  %3: f32[s0] = add(%2, %2)\n"
        "  %4: f32[1] = sum(%3) {axes=[0], keepdim=true}\n"
        "  %5: f32[] = sum(%3) {axes=[0]}\n"
        "  %6: f32[s0] = add(%1, 0x1p+0) into %0\n"
        "  %7: f32[s0] = add(%1, 0x1p+0) into %0\n"
        "  %8: f32[s0] = relu(%0)\n"
        "  return %4, %5, %7, %8\n"
        "}\n");
}

TEST_CASE("applications that differ in an attribute, a number or a type are kept apart") {
  const std::string text =
      "graph(%0: f32[s0]) numbers(v0: f64, v1: f64) {\n"
      "  %1: f32[s0] = scale(%0) {alpha=0x1p+1}\n"
      "  %2: f32[s0] = scale(%0) {alpha=0x1p+2}\n"
      "  %3: f32[s0] = add(%0, v0)\n"
      "  %4: f32[s0] = add(%0, v1)\n"
      "  %5: f32[s0] = add(%0, 1)\n"
      "  %6: f32[s0] = add(%0, 0x1p+0)\n"
      "  %7: f32[s0] = relu(%0)\n"
      "  %8: f32[s0]@[2] = relu(%0)\n"
      "  %9: f32[s0] = clamp(%0, none, 1)\n"
      "  %10: f32[s0] = clamp(%0, 1, none)\n"
      "  return %1, %2, %3, %4, %5, %6, %7, %8, %9, %10\n"
      "}\n";
  CHECK(print(eliminate_common(read(text))) == text);
}

}  // namespace
}  // namespace resilin::ir
