// tests/ir/text_test.cpp -- graphs as text: exact form, round trips, hostile input.
#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "resilin/ir/graph.h"

#include "tests/ir/test_ops.h"

namespace resilin::ir {
namespace {

Dim s(int index) { return Dim::symbol('s', index); }
Graph read(std::string_view text) { return parse(text, find_test_op); }

std::string refusal(std::string_view text) {
  try {
    read(text);
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "(accepted)";
}

constexpr std::string_view kExample =
    "graph(%0: f32[s0, s1], %1: f32[s1]@[s2]) integers(s3) numbers(v0: f64, v1: i64) {\n"
    "  fact s0 in [0, 4096]\n"
    "  fact s1 multiple 8\n"
    "  fact s3 in [-inf, inf]\n"
    "  check s3 = s0 : \"add: sizes \\\"differ\\\"\"\n"
    "  %2: f32[s0, s1] = add(%0, %1)\n"
    "  %3: f32[s0, s1] = add(%2, v0) into %0\n"
    "  %4: f32[s0, 1] = sum(%3) {axes=[1], keepdim=true}\n"
    "  %5: f32[s0, 1] = clamp(%4, none, 0x1p+0)\n"
    "  %6: f32[s0, 1] = scale(%5) {alpha=v1:i64, start=s3 - 1, note=\"}, \\\"\"} into %5\n"
    "  %7: f32[s0, 1], %8: i64[s0, 1] = sort(%6)\n"
    "  = print(%8)\n"
    "  %9: f32[s0, 1] = cond(%8, %7, 3) regions {\n"
    "    graph(%0: f32[s0]) {\n"
    "      %1: f32[s0] = relu(%0)\n"
    "      return %1\n"
    "    }\n"
    "    graph(%0: f32[s0]) {\n"
    "      return %0\n"
    "    }\n"
    "  }\n"
    "  return %9, %2\n"
    "}\n";

TEST_CASE("a graph prints as it was read") {
  const Graph g = read(kExample);
  CHECK(print(g) == kExample);
  CHECK(print(renumber(g, nullptr)) == kExample);
  CHECK(g.nodes().size() == 8);
  CHECK(g.nodes()[1].destination == ValueId{0});
  CHECK(g.nodes()[7].regions.size() == 2);
  CHECK(g.checks()[0].message == "add: sizes \"differ\"");
  CHECK(g.facts().range(s(0)) == Range{0, 4096});
  CHECK(g.facts().range(s(1)).low == 0);
  CHECK(g.facts().range(s(3)) == Range{});
  CHECK(std::get<Number>(g.nodes()[1].inputs[1]) == Number::argument(NumberKind::Float, 0));
  CHECK(g.nodes()[4].attrs.as<ScaleAttrs>().note == "}, \"");
}

TEST_CASE("blanks and line ends may stand anywhere between words") {
  CHECK(print(read("graph ( %0 :f32[ s0,s1 ] ){%1 : f32[s1]\n=\nsum( %0 ){ axes = [ 0 ] }return%1}")) ==
        "graph(%0: f32[s0, s1]) {\n  %1: f32[s1] = sum(%0) {axes=[0]}\n  return %1\n}\n");
  CHECK(print(read("graph() { return }")) == "graph() {\n  return\n}\n");
}

TEST_CASE("graphs that are equal up to the names of their symbols print equal") {
  const auto build = [](int a, int b, int n) {
    Graph g;
    const ValueId x = g.add_input({DType::F32, {s(a), s(b)}});
    const ValueId y = g.add_input({DType::F32, {s(b)}});
    g.facts().set_range({'s', b}, {1, 100});
    g.set_outputs({append(g, kExpand, {append(g, kAdd, {x, y})}, attrs_of(ExpandAttrs{{s(n), s(a), s(b)}}))});
    return print(g);
  };
  CHECK(build(0, 1, 2) == build(7, 3, 9));
  CHECK(build(0, 1, 2) !=
        "graph(%0: f32[s0, s1], %1: f32[s1]) integers(s2) {\n  fact s1 in [1, 100]\n  %2: f32[s0, s1] = add(%0, %1)\n"
        "  %3: f32[s2, s0, s1] = expand(%2) {shape=[s2, s0, s1]}\n  return %3\n}");
}

TEST_CASE("facts and checks that inference adds survive the text") {
  Graph g;
  const ValueId a = g.add_input({DType::F32, {s(0), s(1)}});
  const ValueId b = g.add_input({DType::F32, {s(2), s(3) * s(4)}});
  const ValueId c = g.add_input({DType::F32, {s(4), s(3)}});
  append(g, kAdd, {a, b});
  const ValueId nonzero = append(g, kNonzero, {c});
  g.facts().assume_less(s(3), s(0));
  g.set_outputs({nonzero});
  const Graph back = read(print(g));
  CHECK(print(back) == print(g));
  CHECK(back.facts() == renumber(g, nullptr).facts());
  CHECK(back.checks().size() == 2);
}

TEST_CASE("malformed text is refused with line and column") {
  CHECK(refusal("grap()") == "parse: line 1, column 1: unexpected text: \"grap()\"; graph must come here");
  CHECK(refusal("graph() {\n  return %0\n}") == "parse: line 2, column 10: value %0 is not defined; an earlier line must make it");
  CHECK(refusal("graph(%0: f32[]) {\n  %1: f32[] = nope(%0)\n  return\n}") ==
        "parse: line 2, column 15: unknown op: nope; it must be a registered one");
  CHECK(refusal("graph(%0: f32[]) {\n  %1: f32[] = add(%0)\n  return\n}") ==
        "parse: line 2, column 18: wrong number of operands: add has 1; its inputs are 2");
  CHECK(refusal("graph(%0: f32[s1]) { return }") ==
        "parse: line 1, column 6: symbol s1 stands in place of s0; inputs and integers must declare s0, s1, ... without gaps, each integer "
        "once");
  CHECK(refusal("graph(%0: f32[s0]) integers(s0) { return }").starts_with("parse: line 1, column 6: symbol s0 stands in place of s1"));
  CHECK(refusal("graph(%0: f32[]) {\n  %1: f32[s3] = relu(%0)\n return }") ==
        "parse: line 2, column 7: symbol s3 is not declared; an input or integers(...) must declare it");
  CHECK(refusal("graph(%0: f32[]) {\n  %1: f32[] = add(%0, v0)\n return }") ==
        "parse: line 2, column 23: number v0 is not declared; numbers(...) must list it");
  CHECK(refusal("graph(%1: f32[]) { return }") == "parse: line 1, column 7: value %1 comes here; %0 must");
  CHECK(refusal("graph() { return } graph") == "parse: line 1, column 20: text after the graph; it must end here");
  CHECK(refusal("graph(%0: f32[i1]) { return }") == "parse: line 1, column 6: symbol i1 is none of a graph; its symbols are s0, s1, ...");
}

TEST_CASE("hostile sizes and depths are refused") {
  CHECK(refusal("graph(%0: f32[s2147483647]) { return }").starts_with("parse: line 1, column 6: symbol s2147483647"));
  CHECK(refusal("graph() integers(s999999999) { return }").starts_with("parse: line 1, column 6: symbol s999999999"));
  CHECK(refusal("graph(%99999999999: f32[]) { return }").starts_with("parse: line 1, column 7"));
  CHECK(refusal("graph(%0: f32[" + std::string(100'000, '(') + "]) { return }").starts_with("parse: line 1"));
  std::string regions = "graph(%0: f32[]) { %1: f32[] = cond(%0, %0) regions { ";
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += regions;
  CHECK(refusal(deep).find("nested too deeply") != std::string::npos);
  CHECK(refusal("graph(%0: f32[s0]) {\n  fact s0 in [5, 2]\n  return\n}").starts_with("parse: line 2, column 8"));
  CHECK(refusal("graph(%0: f32[s0]) {\n  fact s0 in [0, 2]\n  fact s0 >= 3\n  return\n}").starts_with("parse: line 3, column 8"));
}

/// A random graph over the test ops; every node's types are inferred.
Graph random_graph(std::mt19937& random) {
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  Graph g;
  std::vector<ValueId> matrices;  // f32[rows, columns]
  const Dim rows = s(pick(20)), columns = pick(2) == 0 ? Dim(1 + pick(9)) : s(20 + pick(20));
  const int inputs = 1 + pick(3);
  for (int i = 0; i < inputs; ++i) {
    Type type{DType::F32, {rows, columns}};
    if (pick(3) == 0) type.strides = Strides{s(40 + i), pick(2) == 0 ? Dim(1) : s(45)};
    matrices.push_back(g.add_input(type));
  }
  const Number numbers[] = {g.add_number(NumberKind::Float), g.add_number(NumberKind::Integer), 0.1, 3, true};
  const Dim parameter = g.add_symbol(pick(2) == 0 ? Range{} : Range{-3, 1000});
  const int nodes = pick(12);
  for (int i = 0; i < nodes; ++i) {
    const ValueId x = matrices[static_cast<std::size_t>(pick(static_cast<int>(matrices.size())))];
    const ValueId y = matrices[static_cast<std::size_t>(pick(static_cast<int>(matrices.size())))];
    const Number number = numbers[pick(5)];
    switch (pick(7)) {
      case 0: matrices.push_back(append(g, kAdd, {x, y})); break;
      case 1: matrices.push_back(append(g, kAdd, {x, number})); break;
      case 2: matrices.push_back(append(g, kClamp, {x, std::monostate{}, number})); break;
      case 3:
        matrices.push_back(
            append(g, kScale, {x}, attrs_of(ScaleAttrs{number, pick(2) == 0 ? std::nullopt : std::optional(parameter * 2 - 1), "n"})));
        break;
      case 4: append(g, kSum, {x}, attrs_of(SumAttrs{{pick(2)}, pick(2) == 0, std::nullopt})); break;
      case 5: append(g, kStackRows, {x, y, x}); break;
      default: matrices.push_back(append_inferred(g, {.op = &kAdd, .inputs = {x, y}, .destination = x}).front());
    }
  }
  g.set_outputs({matrices.back(), matrices.front()});
  return g;
}

TEST_CASE("random graphs survive the text and are valid on both sides") {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const Graph g = random_graph(random);
    verify(g);
    const std::string text = print(g);
    CAPTURE(text);
    const Graph back = read(text);
    verify(back);
    REQUIRE(print(back) == text);
    REQUIRE(back.facts() == renumber(g, nullptr).facts());
  }
}

/// One to three random edits: a byte changed, removed or inserted, a piece repeated or moved, a token of the grammar put in.
std::string mutated(std::string text, std::mt19937& random) {
  constexpr std::string_view kTokens[] = {"graph(",
                                          "%0",
                                          "%9",
                                          "s0",
                                          "s3",
                                          "v0",
                                          "in [",
                                          "inf",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          "(",
                                          ")",
                                          ",",
                                          "=",
                                          ":",
                                          "\"",
                                          "\\",
                                          "fact ",
                                          "check ",
                                          "return",
                                          "regions {",
                                          "into %1",
                                          "none",
                                          "0x1p+9",
                                          "-",
                                          "*",
                                          "floordiv(s0, 0)",
                                          "9223372036854775807",
                                          "\n",
                                          "\t",
                                          "integers(",
                                          "numbers(",
                                          "@[",
                                          "multiple 0",
                                          ">= 0",
                                          "f32[",
                                          "sum",
                                          "\xff",
                                          "mod(s1, s0)"};
  const auto pick = [&](std::size_t count) { return static_cast<std::size_t>(random()) % count; };
  for (std::size_t edits = 1 + pick(3); edits > 0; --edits) {
    const std::size_t at = pick(text.size() + 1), length = std::min(pick(12), text.size() - at);
    switch (pick(5)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, text.substr(pick(text.size() + 1), pick(40))); break;
      case 2: text.insert(at, 1, static_cast<char>(pick(256))); break;
      case 3: text.replace(at, length, kTokens[pick(std::size(kTokens))]); break;
      default: text.insert(at, kTokens[pick(std::size(kTokens))]);
    }
  }
  return text;
}

TEST_CASE("twenty thousand mutated texts are read or refused, and what is read prints and reads back") {
  std::mt19937 random(11);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = mutated(std::string(kExample), random);
    CAPTURE(text);
    try {
      const std::string printed = print(read(text));
      ++accepted;
      REQUIRE(print(read(printed)) == printed);
    } catch (const ArgumentError& error) {
      ++refused;
      REQUIRE(std::string_view(error.what()).starts_with("parse: line "));
    }
  }
  CHECK(accepted > 100);
  CHECK(refused > 10'000);
}

}  // namespace
}  // namespace resilin::ir
