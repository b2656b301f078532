// src/resilin/parallel/gradient_buckets.cpp -- gradients in buckets.
#include "resilin/parallel/gradient_buckets.h"

#include <algorithm>
#include <utility>

#include "resilin/autograd/history.h"
#include "resilin/autograd/hooks.h"
#include "resilin/base/error.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/create/fill.h"
#include "resilin/optim/flat_parameters.h"

namespace resilin::parallel {
namespace {

std::size_t bytes_of(const Tensor& x) { return static_cast<std::size_t>(x.numel().value() * size_bytes(x.dtype())); }

/// A gradient where there was none: zeros, in the memory that the optimizer has for it.
Tensor need_grad(const Tensor& parameter) {
  if (const Tensor there = grad(parameter); there.defined()) return there;
  const Tensor memory = grad_memory(parameter);
  const Tensor zero = memory.defined() ? memory : zeros(parameter.shape(), parameter.dtype());
  if (memory.defined()) assign(memory, 0.0);
  set_grad(parameter, zero);
  return zero;
}

}  // namespace

GradientBuckets::GradientBuckets(const std::vector<Tensor>& parameters, std::size_t first_bytes, std::size_t bytes) {
  std::size_t taken = 0;
  for (std::size_t p = parameters.size(); p-- > 0;) {
    const Tensor& x = parameters[p];
    const std::size_t limit = buckets_.size() <= 1 ? first_bytes : bytes;
    const bool fits = !buckets_.empty() && buckets_.back().parameters.front().dtype() == x.dtype() && taken + bytes_of(x) <= limit;
    if (!fits) {
      buckets_.emplace_back();
      taken = 0;
    }
    // In the order of their memory, so that neighbours are one tensor.
    buckets_.back().parameters.insert(buckets_.back().parameters.begin(), x);
    taken += bytes_of(x);
  }
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    for (const Tensor& x : buckets_[b].parameters)
      hooks_.push_back(register_post_accumulate_grad_hook(x, [this, b](const Tensor&) { arrived(b); }));
  }
}

GradientBuckets::~GradientBuckets() {
  for (HookHandle& hook : hooks_) hook.remove();
}

void GradientBuckets::clear() {
  watching_ = false;
  started_.clear();
  works_.clear();
  for (const Bucket& bucket : buckets_) {
    for (const Tensor& x : bucket.parameters) clear_grad(x);
  }
}

void GradientBuckets::watch(dist::ProcessGroup group, std::chrono::milliseconds timeout) {
  group_ = std::move(group);
  timeout_ = timeout;
  watching_ = true;
  for (Bucket& bucket : buckets_) bucket.missing = bucket.parameters.size();
}

void GradientBuckets::arrived(std::size_t bucket) {
  if (!watching_) return;
  if (buckets_[bucket].missing == 0)
    throw ArgumentError("gradients: a slot ran backward twice; the sums of its first gradients are under way. One backward per slot");
  --buckets_[bucket].missing;
  start_ready();
}

void GradientBuckets::start_ready() {
  while (started_.size() < buckets_.size() && buckets_[started_.size()].missing == 0) start(buckets_[started_.size()]);
}

void GradientBuckets::start(const Bucket& bucket) {
  const NoGrad no_grad;
  std::vector<Tensor> grads;
  for (const Tensor& x : bucket.parameters) grads.push_back(need_grad(x));
  started_.push_back(optim::joined_neighbours(grads));
  works_.push_back(group_.all_reduce_coalesced(started_.back(), dist::ReduceOp::Sum, timeout_));
}

void GradientBuckets::finish(dist::ProcessGroup group, const std::vector<Tensor>& others, std::chrono::milliseconds timeout) {
  group_ = std::move(group);
  timeout_ = timeout;
  watching_ = false;
  try {
    while (started_.size() < buckets_.size()) start(buckets_[started_.size()]);
    for (const Tensor& x : others) works_.push_back(group_.all_reduce(x, dist::ReduceOp::Sum, timeout_));
    for (const dist::Work& work : works_) work.wait();
  } catch (const DistError&) {
    drain();
    throw;
  }
  works_.clear();
}

void GradientBuckets::drain() {
  watching_ = false;
  for (const dist::Work& work : works_) {
    try {
      work.wait();
    } catch (const DistError&) {
      // The generation has failed: what matters is that nothing is written any more.
    }
  }
  works_.clear();
}

}  // namespace resilin::parallel
