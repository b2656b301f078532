// tests/optim/optimizer_test.cpp -- steps against plain arithmetic, groups, gradients that are missing, state, clipping, schedule.
#include "resilin/optim/optimizer.h"

#include <array>
#include <cmath>

#include <doctest/doctest.h>

#include "resilin/autograd/backward.h"
#include "resilin/autograd/history.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/view/shape.h"
#include "resilin/tensor/allocator.h"

#include "tests/support/array.h"

using namespace resilin;

namespace {

Tensor leaf(std::initializer_list<double> values, DType dtype = DType::F64) {
  ir::Array array = ir::Array::zeros(DType::F64, {static_cast<i64>(values.size())});
  array.reals = values;
  return requires_grad_(test::to_tensor(test::cast_array(array, dtype)));
}
std::vector<double> values(const Tensor& x) { return test::to_array(x).reals; }
void check_close(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - want[i]) <= 1e-12 * (1 + std::abs(want[i])));
}

}  // namespace

TEST_CASE("AdamW takes the steps of its formula") {
  const Tensor x = leaf({1, -2, 3});
  optim::AdamW optimizer({x}, {.lr = 0.1, .beta1 = 0.8, .beta2 = 0.9, .eps = 1e-3, .weight_decay = 0.2});
  std::array<double, 3> w{1, -2, 3};
  std::array<double, 3> m{};
  std::array<double, 3> v{};
  for (int step = 1; step <= 5; ++step) {
    backward(sum(x * x * x));
    optimizer.step();
    optimizer.zero_grad();
    CHECK(!grad(x).defined());
    for (std::size_t i = 0; i < 3; ++i) {
      const double g = 3 * w[i] * w[i];
      m[i] = 0.8 * m[i] + 0.2 * g;
      v[i] = 0.9 * v[i] + 0.1 * g * g;
      w[i] *= 1 - 0.1 * 0.2;
      w[i] -= 0.1 / (1 - std::pow(0.8, step)) * m[i] / (std::sqrt(v[i]) / std::sqrt(1 - std::pow(0.9, step)) + 1e-3);
    }
    check_close(values(x), {w.begin(), w.end()});
  }
}

TEST_CASE("SGD takes the steps of its formula: plain, momentum with dampening, nesterov") {
  for (const optim::SGDOptions& o : {optim::SGDOptions{.lr = 0.1, .weight_decay = 0.5},
                                     optim::SGDOptions{.lr = 0.1, .momentum = 0.5, .dampening = 0.25, .weight_decay = 0.5},
                                     optim::SGDOptions{.lr = 0.1, .momentum = 0.5, .nesterov = true}}) {
    const Tensor x = leaf({1, -2});
    optim::SGD optimizer({x}, o);
    std::array<double, 2> w{1, -2};
    std::array<double, 2> buffer{};
    for (int step = 1; step <= 4; ++step) {
      backward(sum(x * x));
      optimizer.step();
      optimizer.zero_grad();
      for (std::size_t i = 0; i < 2; ++i) {
        const double g = 2 * w[i] + o.weight_decay * w[i];
        buffer[i] = step == 1 ? g : o.momentum * buffer[i] + (1 - o.dampening) * g;
        w[i] -= o.lr * (o.momentum == 0 ? g : o.nesterov ? g + o.momentum * buffer[i] : buffer[i]);
      }
      check_close(values(x), {w.begin(), w.end()});
    }
  }
}

TEST_CASE("parameters without a gradient stay as they are, and step for themselves later") {
  const Tensor x = leaf({1});
  const Tensor y = leaf({1});
  const Tensor z = leaf({1});
  optim::AdamW optimizer({x, y, z}, {.lr = 0.1});
  backward(sum(x + z));
  optimizer.step();
  CHECK(values(y)[0] == 1);
  CHECK(values(x)[0] != 1);
  CHECK(values(z)[0] == values(x)[0]);
  optimizer.zero_grad();
  backward(sum(x + y));
  optimizer.step();
  const Tensor alone = leaf({1});
  optim::AdamW other({alone}, {.lr = 0.1});
  backward(sum(alone));
  other.step();
  CHECK(values(y)[0] == values(alone)[0]);
}

TEST_CASE("gradients sum over backwards, and one that was set by hand counts") {
  const Tensor x = leaf({1, 1});
  optim::SGD optimizer({x}, {.lr = 1});
  backward(sum(x * 2));
  backward(sum(x * 3));
  CHECK(values(grad(x)) == std::vector<double>{5, 5});
  optimizer.step();
  check_close(values(x), {-4, -4});
  optimizer.zero_grad();
  set_grad(x, test::to_tensor(test::to_array(x)));
  optimizer.step();
  check_close(values(x), {0, 0});
}

TEST_CASE("groups have options of their own, which may change between steps") {
  const Tensor x = leaf({0});
  const Tensor y = leaf({0});
  optim::SGD optimizer(std::vector<optim::SGD::Group>{{{x}, {.lr = 1}}, {{y}, {.lr = 10}}});
  backward(sum(x + y));
  optimizer.step();
  check_close(values(x), {-1});
  check_close(values(y), {-10});
  optimizer.options(1).lr = 5;
  optimizer.step();
  check_close(values(x), {-2});
  check_close(values(y), {-15});
}

TEST_CASE("the state goes to another optimizer and back") {
  const auto run = [](const Tensor& x, optim::AdamW& optimizer, int steps) {
    for (int i = 0; i < steps; ++i) {
      backward(sum(x * x * x));
      optimizer.step();
      optimizer.zero_grad();
    }
  };
  const Tensor x = leaf({1, 2});
  optim::AdamW first({x}, {.lr = 0.1});
  run(x, first, 3);
  const Tensor y = requires_grad_(test::to_tensor(test::to_array(x)));
  optim::AdamW second({y}, {.lr = 0.1});
  second.load_state_dict(first.state_dict());
  run(x, first, 3);
  run(y, second, 3);
  CHECK(!test::bit_difference(x, y));
  NamedTensors state = first.state_dict();
  state.pop_back();
  CHECK_THROWS_WITH_AS(second.load_state_dict(state), "optimizer: the state lacks \"0.step\"", ArgumentError);
}

TEST_CASE("steady steps take no new memory") {
  const Tensor x = requires_grad_(ones({64, 64}));
  optim::AdamW optimizer({x}, {});
  const auto take_steps = [&](int count) {
    for (int i = 0; i < count; ++i) {
      backward(sum(x * x));
      optimizer.step();
      optimizer.zero_grad();
    }
    return allocator_stats().reserved_bytes;
  };
  const i64 before = take_steps(10);
  CHECK(take_steps(1000) == before);
}

TEST_CASE("clip_grad_norm_ scales what is too long and leaves the rest") {
  const Tensor x = leaf({0, 0});
  const Tensor y = leaf({0});
  backward(sum(x * 2) + sum(y * 1));
  CHECK(std::abs(optim::clip_grad_norm_({x, y, leaf({1})}, 10) - 3) < 1e-12);
  check_close(values(grad(x)), {2, 2});
  CHECK(std::abs(optim::clip_grad_norm_({x, y}, 1.5) - 3) < 1e-12);
  const double factor = 1.5 / (3 + 1e-6);
  check_close(values(grad(x)), {2 * factor, 2 * factor});
  check_close(values(grad(y)), {factor});
}

TEST_CASE("warm-up, then half a cosine, then the floor") {
  const optim::WarmupCosine rate{.peak = 1, .floor = 0.1, .warmup = 10, .total = 110};
  CHECK(rate(0) == 0.1);
  CHECK(rate(9) == 1);
  CHECK(rate(10) == 1);
  CHECK(std::abs(rate(60) - 0.55) < 1e-12);
  CHECK(rate(110) == 0.1);
  CHECK(rate(5000) == 0.1);
}

TEST_CASE("bad options and parameters are refused with torch's words") {
  CHECK_THROWS_WITH_AS(optim::AdamW({leaf({1})}, {.lr = -1}), "Invalid learning rate value: -1", ArgumentError);
  CHECK_THROWS_WITH_AS(optim::AdamW({leaf({1})}, {.beta1 = 1}), "Invalid beta parameter at index 0: value: 1", ArgumentError);
  CHECK_THROWS_WITH_AS(optim::SGD({leaf({1})}, {.nesterov = true}), "Nesterov momentum requires a momentum and zero dampening",
                       ArgumentError);
  const Tensor x = leaf({1});
  CHECK_THROWS_WITH_AS(optim::SGD({x, x}), "some parameters appear in more than one parameter group: number 1", ArgumentError);
  CHECK_THROWS_WITH_AS(optim::SGD({x * 2}), "can't optimize a non-leaf Tensor: parameter 0 is f64[1]", ArgumentError);
}
