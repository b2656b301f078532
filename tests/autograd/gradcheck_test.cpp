// tests/autograd/gradcheck_test.cpp -- gradients and their gradients against finite differences, and what a wrong one looks like.
#include "resilin/autograd/gradcheck.h"

#include <doctest/doctest.h>

#include "resilin/autograd/function.h"
#include "resilin/ops/activation/gelu.h"
#include "resilin/ops/activation/softmax.h"
#include "resilin/ops/contract/matmul.h"
#include "resilin/ops/index/gather.h"
#include "resilin/ops/join/cat.h"
#include "resilin/ops/norm/layer_norm.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/view/axes.h"
#include "resilin/ops/view/range.h"
#include "resilin/ops/view/shape.h"

#include "tests/autograd/leaf.h"

using namespace resilin;
using test::leaf;
using test::starts_with;
using test::words_of;

namespace {

using Tensors = std::vector<Tensor>;

Tensor random_leaf(std::initializer_list<Dim> shape, std::uint64_t seed) { return requires_grad_(test::random(shape, DType::F64, seed)); }

void check_both(const GradcheckFunction& f, const Tensors& inputs) {
  gradcheck(f, inputs);
  gradgradcheck(f, inputs);
}

}  // namespace

TEST_CASE("softmax and layer_norm have right first and second gradients") {
  check_both([](std::span<const Tensor> in) { return Tensors{softmax(in[0], {.axis = -1})}; }, {random_leaf({2, 4}, 1)});
  check_both([](std::span<const Tensor> in) { return Tensors{layer_norm(in[0], {4}, in[1], in[2])}; },
             {random_leaf({3, 4}, 2), random_leaf({4}, 3), random_leaf({4}, 4)});
}

TEST_CASE("matmul has right first and second gradients, in batches too") {
  const GradcheckFunction f = [](std::span<const Tensor> in) { return Tensors{matmul(in[0], in[1])}; };
  check_both(f, {random_leaf({2, 3}, 1), random_leaf({3, 2}, 2)});
  check_both(f, {random_leaf({2, 2, 3}, 1), random_leaf({3, 2}, 2)});
  check_both(f, {random_leaf({2, 2, 3}, 1), random_leaf({2, 3, 2}, 2)});
}

TEST_CASE("a whole block has right first and second gradients") {
  check_both(
      [](std::span<const Tensor> in) {
        const Tensor normal = layer_norm(in[0], {4}, in[1]);
        const Tensor hidden = gelu(matmul(normal, in[2]));
        return Tensors{in[0] + matmul(hidden, transpose(in[2], 0, 1)), mean(hidden)};
      },
      {random_leaf({2, 4}, 1), random_leaf({4}, 2), random_leaf({4, 3}, 3)});
}

TEST_CASE("views, joins and writes have right first and second gradients") {
  check_both(
      [](std::span<const Tensor> in) {
        const Tensor y = in[0] * in[0];
        const Tensor part = transpose(slice(y, 1, 1, 3), 0, 1);
        mul_(part, select(in[0], 1, 0));
        return Tensors{cat({y, expand(slice(in[0], 0, 0, 1), {2, 3})}, 0), reshape(y, {6})};
      },
      {random_leaf({2, 3}, 1)});
}

TEST_CASE("a wrong gradient is found") {
  const Function wrong{.name = "Wrong",
                       .forward = [](FunctionContext&, std::span<const Tensor> in) { return Tensors{in[0] * 2}; },
                       .backward = [](FunctionContext&, std::span<const Tensor> grads) { return Tensors{grads[0] * 3}; }};
  const Tensor x = random_leaf({2}, 1);
  CHECK(starts_with(words_of<NumericError>([&] {
                      gradcheck([&](std::span<const Tensor> in) { return apply_function(wrong, {in[0]}); }, {&x, 1});
                    }),
                    "gradcheck: Jacobian mismatch for output 0 with respect to input 0"));
  const Tensor low = requires_grad_(test::make<float>({1}));
  CHECK(words_of<DtypeError>([&] { gradcheck([](std::span<const Tensor> in) { return Tensors{in[0] * 2}; }, {&low, 1}); }) != "");
}
