// tests/autograd/history_test.cpp -- which tensors require gradients, and how histories begin and end.
#include "resilin/autograd/history.h"

#include <doctest/doctest.h>

#include "resilin/autograd/node.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/dispatch/trace.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/reduce/reduce.h"

#include "tests/autograd/leaf.h"

using namespace resilin;
using test::leaf;
using test::starts_with;
using test::Values;
using test::values_of;
using test::words_of;

TEST_CASE("results require gradients when an input does") {
  const Tensor x = leaf({1, 2});
  const Tensor plain = test::make<double>({1, 2});
  CHECK(requires_grad(x));
  CHECK(is_leaf(x));
  CHECK(requires_grad(x * plain));
  CHECK(!is_leaf(x * plain));
  CHECK(!requires_grad(plain * plain));
  CHECK(is_leaf(plain * plain));
  CHECK(!requires_grad(lt(x, 0)));
  CHECK(!requires_grad(cast(x, DType::I64)));
}

TEST_CASE("only floats can require gradients, and only leaves can stop") {
  CHECK(words_of<DtypeError>([] { requires_grad_(test::make<i64>({1})); }) == "only Tensors of floating point dtype can require gradients");
  const Tensor x = leaf({1});
  CHECK(starts_with(words_of<ArgumentError>([&] { requires_grad_(x * 2, false); }),
                    "you can only change requires_grad flags of leaf variables."));
  CHECK(requires_grad(requires_grad_(x * 2)));
  requires_grad_(x, false);
  CHECK(!requires_grad(x * 2));
}

TEST_CASE("nothing is recorded without grad mode") {
  const Tensor x = leaf({2});
  {
    const NoGrad no_grad;
    CHECK(!is_grad_enabled());
    CHECK(!requires_grad(x * 2));
    {
      const EnableGrad enable_grad;
      CHECK(requires_grad(x * 2));
    }
    CHECK(!is_grad_enabled());
    add_(x, 1);  // as an optimizer does
  }
  CHECK(is_grad_enabled());
  CHECK(values_of(x) == Values{3});
  CHECK(is_leaf(x));
}

TEST_CASE("detach shares memory and version, not history") {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  const Tensor free = detach(y);
  CHECK(!requires_grad(free));
  CHECK(free.storage() == y.storage());
  const i64 before = y.version();
  add_(free, 1);
  CHECK(y.version() == before + 1);
  CHECK(values_of(y) == Values{3, 5});
}

TEST_CASE("a gradient can be set and must look like its tensor") {
  const Tensor x = leaf({1, 2});
  set_grad(x, test::make<double>({3, 4}));
  backward(sum(x));
  CHECK(values_of(grad(x)) == Values{4, 5});
  CHECK(words_of<ShapeError>([&] { set_grad(x, test::make<double>({3})); }) != "");
  CHECK(words_of<DtypeError>([&] { set_grad(x, test::make<float>({3, 4})); }) != "");
  set_grad(x, Tensor());
  CHECK(!grad(x).defined());
}

TEST_CASE("a node knows its name, its successors and its place in time") {
  const Tensor x = leaf({1, 2});
  CHECK(!grad_fn(x).defined());
  const Tensor y = exp(x);
  const Tensor z = y * 3 + x;
  const GradNode add_node = grad_fn(z);
  CHECK(add_node.name() == "AddBackward0");
  CHECK(grad_fn(y).name() == "ExpBackward0");
  const auto next = add_node.next_functions();
  REQUIRE(next.size() == 2);
  CHECK(next[0].first.name() == "MulBackward0");
  CHECK(next[1].first.name() == "AccumulateGrad");
  CHECK(next[0].first.next_functions()[0].first == grad_fn(y));
  CHECK(!next[0].first.next_functions()[1].first.defined());
  CHECK(add_node.sequence() > grad_fn(y).sequence());
  add_node.metadata()["note"] = 7;
  CHECK(std::any_cast<int>(grad_fn(z).metadata()["note"]) == 7);
}

TEST_CASE("a hook of creation sees every finished node once, outer scopes first") {
  const Tensor x = leaf({1, 2});
  std::vector<std::string> seen;
  {
    const NodeCreationHook outer([&](const GradNode& node) {
      seen.push_back("outer " + node.name());
      (void)(x * 2);  // not announced
    });
    const NodeCreationHook inner([&](const GradNode& node) { seen.push_back("inner " + node.name()); });
    (void)exp(x);
  }
  (void)exp(x);
  CHECK(seen == std::vector<std::string>{"outer ExpBackward0", "inner ExpBackward0"});
}

TEST_CASE("a history over a trace makes gradients in the same graph, for all sizes") {
  ir::Graph graph;
  const Dim n = graph.add_symbol({2, Range::kHighest});
  Tracer tracer(graph, CompositeMode::Keep);
  const TraceScope scope(tracer);
  const Tensor x = requires_grad_(tracer.tensor(graph.add_input({DType::F64, {n, 3}, {}})));
  const Tensor w = requires_grad_(tracer.tensor(graph.add_input({DType::F64, {3}, {}})));
  const std::vector<Tensor> first = gradients(sum(exp(x * w) + x), {x, w}, {.create_graph = true});
  const std::vector<Tensor> second = gradients(sum(first[0]), {x, w});
  std::vector<ir::ValueId> values;
  for (const Tensor& g : {first[0], first[1], second[0], second[1]}) values.push_back(tracer.value(g, "test"));
  graph.set_outputs(values);
  ir::verify(graph);
  CHECK(first[0].shape() == x.shape());
  CHECK(second[1].shape() == w.shape());
  CHECK_THROWS_AS(mul_(exp(x), w), UnsupportedError);
}
