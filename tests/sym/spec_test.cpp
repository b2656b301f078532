// tests/sym/spec_test.cpp -- declared dynamic sizes become symbols and facts, print and parse.
#include "resilin/sym/spec.h"

#include <doctest/doctest.h>

namespace resilin {
namespace {

DynamicSpec example() {
  const ShapeVar batch{.name = "batch", .min = 1, .max = 4096, .multiple = 8};
  return dynamic_spec({{"x", std::vector<AxisSpec>{batch, Static{}, i64{128}}},
                       {"y.weight", std::vector<AxisSpec>{ShapeVar{"n"}, batch}},
                       {"k", IntVar{.name = "count"}},
                       {"lr", ScalarVar{"rate"}},
                       {"z", std::vector<AxisSpec>{}}});
}

TEST_CASE("a spec allots symbols in order of appearance and states their ranges") {
  const SpecSymbols symbols = example().to_facts();
  CHECK(symbols.names == std::vector<std::string>{"batch", "n", "count"});
  CHECK(symbols.facts.print() == std::vector<std::string>{"s0 in [8, 4096]", "s0 multiple 8", "s1 in [0, inf]"});
  const Dim s0 = Dim::symbol('s', 0);
  REQUIRE(symbols.sizes.size() == 5);
  CHECK(symbols.sizes[0] == std::vector<std::optional<Dim>>{s0, std::nullopt, Dim(128)});
  CHECK(symbols.sizes[1] == std::vector<std::optional<Dim>>{Dim::symbol('s', 1), s0});
  CHECK(symbols.sizes[2] == std::vector<std::optional<Dim>>{Dim::symbol('s', 2)});
  CHECK(symbols.sizes[3].empty());
}

TEST_CASE("a spec prints and reads back") {
  const std::string text =
      "x: [batch in [1, 4096] multiple 8, static, 128]; y.weight: [n, batch in [1, 4096] multiple 8]; k: int count; lr: scalar rate; z: []";
  CHECK(example().print() == text);
  CHECK(DynamicSpec::parse(text) == example());
  CHECK(DynamicSpec::parse("") == DynamicSpec());
  CHECK(DynamicSpec::parse(" a :[ b in[2,inf] ];c: int d in [-3, 3]").print() == "a: [b in [2, inf]]; c: int d in [-3, 3]");
}

TEST_CASE("a spec that contradicts itself is refused") {
  const auto axes = [](std::vector<AxisSpec> list) { return list; };
  CHECK_THROWS_AS(dynamic_spec({{"x", axes({ShapeVar{"n"}})}, {"x", axes({})}}), ArgumentError);
  CHECK_THROWS_AS(dynamic_spec({{"x", axes({ShapeVar{"n", 1}})}, {"y", axes({ShapeVar{"n", 2}})}}), ArgumentError);
  CHECK_THROWS_AS(dynamic_spec({{"x", axes({ShapeVar{"n", 5, 4}})}}), ArgumentError);
  CHECK_THROWS_AS(dynamic_spec({{"x", axes({ShapeVar{"n", 1, 7, 8}})}}), ArgumentError);
  CHECK_THROWS_AS(dynamic_spec({{"x", axes({ShapeVar{"n", -1}})}}), ArgumentError);
  CHECK_THROWS_AS(dynamic_spec({{"x", axes({i64{-1}})}}), ArgumentError);
  CHECK_THROWS_AS(dynamic_spec({{"x", axes({ShapeVar{""}})}}), ArgumentError);
  CHECK_THROWS_AS(dynamic_spec({{"x", ScalarVar{"static"}}}), ArgumentError);
  CHECK_THROWS_AS(dynamic_spec({{"1x", ScalarVar{"a"}}}), ArgumentError);
}

TEST_CASE("text that is no spec is refused") {
  for (const char* text : {"x",
                           "x:",
                           "x: y",
                           "x: [",
                           "x: [a",
                           "x: [a,]",
                           "x: [a b]",
                           "x: [a in]",
                           "x: [a in [1]",
                           "x: [a in [3, 2]]",
                           "x: [a multiple]",
                           "x: [a multiple 0]",
                           "x: [a multiple -4]",
                           "x: int",
                           "x: scalar",
                           "x: [a]; x: [a]",
                           "x: [a];",
                           "; x: [a]",
                           "x: [99999999999999999999]",
                           "x: [a in [1, 9999999999999999999]]",
                           "in: [a]",
                           "x: [a] y: [b]",
                           "x: [\xff]"}) {
    CHECK_THROWS_AS_MESSAGE(DynamicSpec::parse(text), ArgumentError, text);
  }
}

}  // namespace
}  // namespace resilin
