// tests/sweep/launch_test.cpp -- how many kernels calls launch, and how few kernels many calls of one layout class compile.
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/autograd/backward.h"
#include "resilin/autograd/history.h"
#include "resilin/codegen/compile.h"
#include "resilin/ops/activation/gelu.h"
#include "resilin/ops/activation/softmax.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/join/cat.h"
#include "resilin/ops/loss/cross_entropy.h"
#include "resilin/ops/norm/layer_norm.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/random/dropout.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/view/range.h"
#include "resilin/ops/view/shape.h"
#include "resilin/optim/optimizer.h"

#include "tests/support/array.h"
#include "tests/sweep/sample_call.h"

using namespace resilin;

namespace {

constexpr i64 kCalls = 1000;

i64 launches_of(const std::function<void()>& body) {
  body();  // plans and compiles
  const i64 before = launch_count();
  body();
  return launch_count() - before;
}

i64 launches_of_sample(std::string_view op) {
  const sweep::Call call = sweep::sample_call(op);
  return launches_of([&] { apply(*call.op, call.arguments(), call.attrs.ref()); });
}

i64 kernels_made() {
  const CompileStats stats = compile_stats();
  return stats.compiled + stats.disk_hits + stats.pack_hits;
}

i64 kernels_of(const std::function<void(i64)>& call) {
  const i64 before = kernels_made();
  for (i64 i = 0; i < kCalls; ++i) call(i);
  return kernels_made() - before;
}

Tensor zeros(std::initializer_list<i64> shape) { return test::to_tensor(ir::Array::zeros(DType::F32, shape)); }

}  // namespace

TEST_CASE("an op of one region launches one kernel, composites and in-place forms included") {
  for (const char* op : {"softmax", "layer_norm", "gelu", "cat"}) CHECK_MESSAGE(launches_of_sample(op) == 1, op);
}

TEST_CASE("steps forward and backward are fused") {
  using Function = std::function<Tensor(std::span<const Tensor>)>;
  struct Launches {
    i64 forward, backward;
    bool operator==(const Launches&) const = default;
  };
  const auto launches = [](std::vector<Tensor> inputs, const Function& function) {
    for (const Tensor& x : inputs) requires_grad_(x);
    const i64 forward = launches_of([&] { function(inputs); });
    const Tensor y = function(inputs);
    const GradientOptions options{.grad_outputs = {full_like(y, 1)}, .retain_graph = true};
    return Launches{forward, launches_of([&] { gradients({{y}}, inputs, options); })};
  };
  const Tensor x = zeros({5, 33});
  const Tensor classes = iota(5);
  CHECK(launches({x}, [](std::span<const Tensor> in) { return softmax(in[0]); }) == Launches{1, 1});
  CHECK(launches({x}, [](std::span<const Tensor> in) { return gelu(in[0]); }) == Launches{1, 1});
  CHECK(launches({x, zeros({33}), zeros({33})}, [](std::span<const Tensor> in) { return layer_norm(in[0], {33}, in[1], in[2]); }) ==
        Launches{1, 2});
  CHECK(launches({x}, [](std::span<const Tensor> in) { return dropout(in[0], 0.25); }) == Launches{1, 1});
  CHECK(launches({x}, [&](std::span<const Tensor> in) { return cross_entropy(in[0], classes); }) == Launches{2, 1});
  CHECK(launches({x}, [](std::span<const Tensor> in) { return in[0] + in[0] + 2; }) == Launches{2, 1});  // back: the sum of two gradients
}

TEST_CASE("a step of an optimizer is one launch for each group and dtype") {
  std::vector<Tensor> params;
  for (i64 i = 0; i < 20; ++i) params.push_back(requires_grad_(ones({1 + i, 2}, i % 2 == 0 ? DType::F32 : DType::F64)));
  optim::AdamW optimizer(params, {});
  const auto launches = [&] {
    optimizer.zero_grad();
    Tensor loss = sum(params[0]);
    for (const Tensor& x : params) loss = loss + sum(x * x);
    backward(loss);
    const i64 before = launch_count();
    optimizer.step();
    return launch_count() - before;
  };
  launches();
  CHECK(launches() == 2);
}

TEST_CASE("x.add_(y) launches one kernel and writes x") {
  const Tensor x = zeros({5, 33});
  const Tensor y = add(zeros({5, 33}), Number(2.0));
  const i64 launches = launches_of([&] { add_(x, y); });
  CHECK(launches == 1);
  CHECK(test::to_array(x).reals[7] == 4.0);
}

TEST_CASE("a reshape launches nothing where it is an alias, and one kernel where it must copy") {
  const Tensor x = zeros({3, 5, 7, 4});
  CHECK(launches_of([&] { reshape(x, {15, 28}); }) == 0);
  CHECK(launches_of([&] { reshape(x, {420}); }) == 0);
  const Tensor heads = transpose(x, 1, 2);
  CHECK(launches_of([&] { reshape(heads, {3, 7, 20}); }) == 1);
  CHECK(launches_of([&] { reshape(heads, {420}); }) == 1);
  CHECK(launches_of([&] { reshape(slice(x, 0, 1, 3), {2, 140}); }) == 0);
}

TEST_CASE("calls of more tensors than a key of exact sizes holds keep their own sizes") {
  for (const i64 count : {12, 13, 20}) {
    for (const i64 rows : {1, 3, 2}) {
      std::vector<Tensor> parts;
      for (i64 i = 0; i < count; ++i) parts.push_back(add(zeros({rows, 2}), Number(static_cast<double>(i))));
      const ir::Array joined = test::to_array(cat(parts, 0));
      REQUIRE(joined.numel() == count * rows * 2);
      for (i64 i = 0; i < count; ++i) CHECK(joined.real(i * rows * 2) == static_cast<double>(i));
    }
  }
}

TEST_CASE("hundreds of tensors are joined in one launch, row-major or strided, along any axis") {
  for (const i64 axis : {0, 1, 2}) {
    for (const bool is_strided : {false, true}) {
      std::vector<Tensor> parts;
      for (i64 i = 0; i < 300; ++i) {
        const Tensor part = add(zeros({2, 1 + i % 3, 2}), Number(static_cast<double>(i)));
        parts.push_back(slice(is_strided ? transpose(part, 0, 2) : part, 1, 0, axis == 1 ? 1 + i % 3 : 1));
      }
      Tensor joined;
      CHECK(launches_of([&] { joined = cat(parts, axis); }) == 1);
      i64 at = 0;
      for (i64 i = 0; i < 300; ++i) {
        const i64 size = parts[static_cast<std::size_t>(i)].size(axis).value();
        CHECK(!test::bit_difference(slice(joined, axis, at, at + size), parts[static_cast<std::size_t>(i)]));
        at += size;
      }
    }
  }
}

TEST_CASE("a thousand scalars need one kernel") {
  const Tensor x = zeros({7, 9});
  CHECK(kernels_of([&](i64 i) { mul(x, Number(0.25 * static_cast<double>(i))); }) <= 1);
}

TEST_CASE("a thousand offsets into a storage need one kernel") {
  const Tensor x = zeros({2000});
  CHECK(kernels_of([&](i64 i) { exp(slice(x, 0, i, i + 64)); }) <= 1);
}

TEST_CASE("a thousand slice starts and steps need one kernel") {
  const Tensor x = zeros({5, 4000});
  CHECK(kernels_of([&](i64 i) { exp(slice(x, 1, i, i + 900, 2 + i % 3)); }) <= 1);
}

TEST_CASE("a thousand paddings need one kernel") {
  const Tensor x = zeros({6, 7});
  CHECK(kernels_of([&](i64 i) { pad(x, {i % 50, i * 7 % 50, i % 3, 1}, Number(static_cast<double>(i))); }) <= 1);
}

TEST_CASE("a thousand shapes of one layout class need one kernel") {
  CHECK(kernels_of([&](i64 i) { exp(zeros({2 + i % 31, 2 + i % 37})); }) <= 1);
}
