// src/resilin/autograd/gradcheck.cpp -- gradients against finite differences.
#include "resilin/autograd/gradcheck.h"

#include <cmath>

#include "resilin/autograd/backward.h"
#include "resilin/autograd/history.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/view/axes.h"

namespace resilin {
namespace {

// A leaf of its own memory with the same values.
Tensor fresh(const Tensor& x) {
  if (!x.defined() || !requires_grad(x)) return x;
  const NoGrad no_grad;
  const Tensor copy = contiguous(x);
  const Tensor leaf = copy.is_same(x) || copy.storage() == x.storage() ? clone(detach(x)) : copy;
  return requires_grad_(leaf);
}

std::vector<double> values_of(const Tensor& y) {
  const NoGrad no_grad;
  const Tensor row_major = contiguous(cast(detach(y), DType::F64));
  const double* const data = static_cast<const double*>(row_major.data());
  return data == nullptr ? std::vector<double>() : std::vector<double>(data, data + row_major.numel().value());
}

/// The values of all outputs of f where one element of an input has moved.
using Values = std::vector<std::vector<double>>;
Values values_at(const GradcheckFunction& f, std::span<const Tensor> inputs, std::size_t input, i64 element, double by) {
  std::vector<Tensor> moved;
  for (const Tensor& x : inputs) moved.push_back(fresh(x));
  moved[input].data_as<double>()[element] += by;
  Values values;
  for (const Tensor& y : f(moved)) values.push_back(y.defined() && is_floating(y.dtype()) ? values_of(y) : std::vector<double>());
  return values;
}

class Check {
 public:
  Check(const GradcheckFunction& f, std::span<const Tensor> inputs, const GradcheckOptions& options) : f_(f), options_(options) {
    for (const Tensor& x : inputs) {
      inputs_.push_back(fresh(x));
      if (!x.defined() || !requires_grad(x)) continue;
      if (x.dtype() != DType::F64) throw DtypeError(cat("gradcheck: an input that requires grad is ", x.dtype(), "; it must be f64"));
      places_.push_back(inputs_.size() - 1);
      leaves_.push_back(inputs_.back());
    }
    if (leaves_.empty())
      throw ArgumentError("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.");
  }

  void run() {
    outputs_ = f_(inputs_);
    jacobians_.resize(outputs_.size());
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      if (outputs_[o].defined() && requires_grad(outputs_[o])) read_rows(o);
    }
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      for (i64 e = 0; e < leaves_[i].numel().value(); ++e) compare(i, e);
    }
  }

 private:
  // Row r of a Jacobian: the gradient of element r of the output, per leaf.
  void read_rows(std::size_t o) {
    const i64 count = outputs_[o].numel().value();
    for (i64 r = 0; r < count; ++r) {
      const Tensor one = zeros(outputs_[o].shape(), DType::F64);
      one.data_as<double>()[r] = 1;
      const std::vector<Tensor> grads = gradients(
          {&outputs_[o], 1}, leaves_, {.grad_outputs = {cast(one, outputs_[o].dtype())}, .retain_graph = true, .materialize_grads = true});
      std::vector<std::vector<double>>& row = jacobians_[o].emplace_back();
      for (const Tensor& grad : grads) row.push_back(values_of(grad));
    }
  }

  void compare(std::size_t leaf, i64 element) {
    const std::size_t input = places_[leaf];
    const Values above = values_at(f_, inputs_, input, element, options_.eps);
    const Values below = values_at(f_, inputs_, input, element, -options_.eps);
    for (std::size_t o = 0; o < above.size(); ++o) {
      for (std::size_t r = 0; r < above[o].size(); ++r) {
        const double numeric = (above[o][r] - below[o][r]) / (2 * options_.eps);
        const double analytic = jacobians_[o].empty() ? 0 : jacobians_[o][r][leaf][static_cast<std::size_t>(element)];
        if (std::abs(analytic - numeric) <= options_.atol + options_.rtol * std::abs(numeric)) continue;
        throw NumericError(cat("gradcheck: Jacobian mismatch for output ", o, " with respect to input ", input, ": numerical ", numeric,
                               ", analytical ", analytic, " for element ", r, " of the output and element ", element, " of the input"));
      }
    }
  }

  const GradcheckFunction& f_;
  const GradcheckOptions& options_;
  std::vector<Tensor> inputs_;
  std::vector<std::size_t> places_;  // of the leaves among the inputs
  std::vector<Tensor> leaves_;
  std::vector<Tensor> outputs_;
  std::vector<std::vector<std::vector<std::vector<double>>>> jacobians_;  // output, row, leaf, element
};

// Fixed values without a pattern that a sum would hide.
Tensor some_gradient(const Tensor& y) {
  const Tensor grad = zeros(y.shape(), DType::F64);
  double* const data = static_cast<double*>(grad.data());
  for (i64 i = 0; i < grad.numel().value(); ++i) data[i] = 0.25 + static_cast<double>(i * 7 % 11) / 8;
  return requires_grad_(cast(grad, y.dtype()));
}

}  // namespace

void gradcheck(const GradcheckFunction& f, std::span<const Tensor> inputs, const GradcheckOptions& options) {
  const EnableGrad enable_grad;
  Check(f, inputs, options).run();
}

void gradgradcheck(const GradcheckFunction& f, std::span<const Tensor> inputs, const GradcheckOptions& options) {
  const EnableGrad enable_grad;
  std::vector<Tensor> all(inputs.begin(), inputs.end());
  for (const Tensor& y : f(inputs)) {
    if (y.defined() && requires_grad(y)) all.push_back(some_gradient(y));
  }
  const std::size_t count = inputs.size();
  const GradcheckFunction gradient = [&f, count](std::span<const Tensor> tensors) {
    std::vector<Tensor> outputs;
    for (const Tensor& y : f(tensors.first(count))) {
      if (y.defined() && requires_grad(y)) outputs.push_back(y);
    }
    std::vector<Tensor> leaves;
    for (const Tensor& x : tensors.first(count)) {
      if (x.defined() && requires_grad(x)) leaves.push_back(x);
    }
    const std::vector<Tensor> grads(tensors.begin() + static_cast<std::ptrdiff_t>(count), tensors.end());
    return gradients(outputs, leaves, {.grad_outputs = grads, .create_graph = true, .materialize_grads = true});
  };
  gradcheck(gradient, all, options);
}

}  // namespace resilin
