// tests/ops/reduce_test.cpp -- reductions made of several ops are one kernel each, and their gradients at special points.
#include <limits>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/dispatch/execute.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/resilin.h"

#include "tests/support/tensor.h"

using namespace resilin;
using test::make;
using Values = std::vector<double>;

namespace {

std::size_t kernels_of(std::string_view op, const ir::Attrs& attrs) {
  const Tensor x = test::random({4, 50}, DType::F32, 1);
  const Input inputs[] = {x};
  return eager_record(*find_op(op), inputs, attrs.ref()).kernel_texts.size();
}

// The gradients of sum(f(x)).
template <class F>
Values slopes(const F& f, std::initializer_list<double> at) {
  const Tensor x = requires_grad_(make<double>(at));
  backward(sum(f(x)));
  return test::values_of(grad(x));
}

}  // namespace

TEST_CASE("a variance and a norm are one kernel") {
  for (const SmallVector<i64, 5>& axes : {SmallVector<i64, 5>{1}, SmallVector<i64, 5>{}}) {
    INFO(axes.size(), " axes");
    CHECK(kernels_of("var", ir::attrs_of(VarianceAttrs{.axes = axes})) == 1);
    CHECK(kernels_of("std", ir::attrs_of(VarianceAttrs{.axes = axes})) == 1);
    CHECK(kernels_of("norm", ir::attrs_of(NormAttrs{.axes = axes})) == 1);
    CHECK(kernels_of("norm", ir::attrs_of(NormAttrs{NormKind::Power, 3.0, axes})) == 1);
  }
}

TEST_CASE("gradients of norms and deviations at 0 and at ties are PyTorch's") {
  CHECK(slopes([](const Tensor& x) { return norm(x); }, {0, 0}) == Values{0, 0});
  CHECK(slopes([](const Tensor& x) { return norm(x, std::numeric_limits<double>::infinity()); }, {2, -2}) == Values{0.5, -0.5});
  CHECK(slopes([](const Tensor& x) { return stddev(x); }, {1, 1}) == Values{0, 0});
}
