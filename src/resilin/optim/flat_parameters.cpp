// src/resilin/optim/flat_parameters.cpp -- Internal: parameters of one dtype laid one after the other in one memory, with their gradients and state.
#include "resilin/optim/flat_parameters.h"

#include <algorithm>

#include "resilin/autograd/history.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/create/fill.h"
#include "resilin/tensor/layout.h"

namespace resilin::optim {
namespace {

void check(const std::vector<Tensor>& params) {
  for (std::size_t p = 0; p < params.size(); ++p) {
    const Tensor& x = params[p];
    if (!x.defined()) throw ArgumentError(cat("optimizer: parameter ", p, " is undefined"));
    if (!is_leaf(x)) throw ArgumentError(cat("can't optimize a non-leaf Tensor: parameter ", p, " is ", x.dtype(), x.shape()));
    if (x.dtype() != params[0].dtype())
      throw ArgumentError(cat("optimizer: parameters of one group differ in dtype: ", params[0].dtype(), " and ", x.dtype()));
    for (std::size_t q = 0; q < p; ++q) {
      if (params[q].is_same(x)) throw ArgumentError(cat("some parameters appear in more than one parameter group: number ", p));
    }
  }
}

}  // namespace

FlatParameters::FlatParameters(std::vector<Tensor> params, int state_count) : params_(std::move(params)), steps_(params_.size(), 0) {
  check(params_);
  begin_.push_back(0);
  for (const Tensor& x : params_) begin_.push_back(begin_.back() + x.numel().value());
  const DType dtype = params_.empty() ? DType::F32 : params_[0].dtype();
  const NoGrad no_grad;
  const Shape flat{begin_.back()};
  values_ = zeros(flat, dtype);
  grads_ = zeros(flat, dtype);
  for (int s = 0; s < state_count; ++s) states_.push_back(zeros(flat, dtype));
  for (std::size_t p = 0; p < params_.size(); ++p) {
    const Tensor home = view_of(values_, p);
    assign(home, params_[p]);
    TensorBody& body = params_[p].body();
    body.storage = home.storage();
    body.offset = home.offset();
    body.strides = home.strides();
    set_grad_memory(params_[p], view_of(grads_, p));
  }
}

Tensor FlatParameters::view_of(const Tensor& flat, std::size_t p) const {
  return Tensor::view(flat.storage(), flat.dtype(), begin_[p], params_[p].shape(), contiguous_strides(params_[p].shape()));
}
Tensor FlatParameters::part(const Tensor& flat, const FlatRun& run) {
  const Dim shape[] = {run.end - run.begin};
  const Dim strides[] = {1};
  return Tensor::view(flat.storage(), flat.dtype(), run.begin, shape, strides);
}
Tensor FlatParameters::state_of(int which, std::size_t p) const { return view_of(states_[static_cast<std::size_t>(which)], p); }

std::vector<FlatRun> FlatParameters::begin_step() {
  const NoGrad no_grad;
  std::vector<FlatRun> runs;
  for (std::size_t p = 0; p < params_.size(); ++p) {
    const Tensor g = grad(params_[p]);
    if (!g.defined() || begin_[p] == begin_[p + 1]) continue;
    const Tensor home = view_of(grads_, p);
    if (!is_same_view(g, home)) assign(home, g);
    const i64 step = ++steps_[p];
    if (!runs.empty() && runs.back().end == begin_[p] && runs.back().step == step) {
      runs.back().end = begin_[p + 1];
    } else {
      runs.push_back({begin_[p], begin_[p + 1], step});
    }
  }
  return runs;
}

void FlatParameters::clear_grads() const {
  for (const Tensor& x : params_) clear_grad(x);
}

std::vector<Tensor> joined_neighbours(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> joined;
  for (const Tensor& x : tensors) {
    if (!x.is_contiguous()) {
      joined.push_back(x);
      continue;
    }
    i64 begin = x.offset();
    const i64 end = begin + x.numel().value();
    if (!joined.empty() && joined.back().is_contiguous() && joined.back().storage() == x.storage() && joined.back().dtype() == x.dtype() &&
        joined.back().offset() + joined.back().numel().value() == begin) {
      begin = joined.back().offset();
      joined.pop_back();
    }
    const Dim shape[] = {end - begin};
    const Dim strides[] = {1};
    joined.push_back(Tensor::view(x.storage(), x.dtype(), begin, shape, strides));
  }
  return joined;
}

}  // namespace resilin::optim
