// src/resilin/optim/optimizer.cpp -- optimizers: AdamW and SGD over groups of parameters.
#include "resilin/optim/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <string_view>

#include "resilin/autograd/history.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/optimizer/update.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/reduce/norm.h"
#include "resilin/optim/flat_parameters.h"

namespace resilin::optim {
namespace {

void require(bool holds, std::string_view what, double value) {
  if (!holds) throw ArgumentError(cat("Invalid ", what, " value: ", value));
}

// --- what differs between algorithms: the names of the state, the range of options, one step --------------------------------------------------
std::vector<std::string_view> state_names(const AdamWOptions&) { return {"exp_avg", "exp_avg_sq"}; }
std::vector<std::string_view> state_names(const SGDOptions& options) {
  return options.momentum == 0 ? std::vector<std::string_view>{} : std::vector<std::string_view>{"momentum_buffer"};
}

void check(const AdamWOptions& o) {
  require(o.lr >= 0, "learning rate", o.lr);
  require(o.eps >= 0, "epsilon", o.eps);
  require(o.beta1 >= 0 && o.beta1 < 1, "beta parameter at index 0:", o.beta1);
  require(o.beta2 >= 0 && o.beta2 < 1, "beta parameter at index 1:", o.beta2);
  require(o.weight_decay >= 0, "weight_decay", o.weight_decay);
}
void check(const SGDOptions& o) {
  require(o.lr >= 0, "learning rate", o.lr);
  require(o.momentum >= 0, "momentum", o.momentum);
  require(o.weight_decay >= 0, "weight_decay", o.weight_decay);
  if (o.nesterov && (o.momentum <= 0 || o.dampening != 0)) throw ArgumentError("Nesterov momentum requires a momentum and zero dampening");
}

void step_run(const FlatParameters& flat, const FlatRun& run, const AdamWOptions& o) {
  const double steps = static_cast<double>(run.step);
  adamw_(flat.values(run), flat.grads(run), {flat.state(0, run), flat.state(1, run)},
         {.decay = 1 - o.lr * o.weight_decay,
          .beta1 = o.beta1,
          .beta2 = o.beta2,
          .gain1 = 1 - o.beta1,
          .gain2 = 1 - o.beta2,
          .eps = o.eps,
          .step_size = o.lr / (1 - std::pow(o.beta1, steps)),
          .correction = std::sqrt(1 - std::pow(o.beta2, steps))});
}
void step_run(const FlatParameters& flat, const FlatRun& run, const SGDOptions& o) {
  const SgdAttrs attrs{.lr = o.lr,
                       .momentum = o.momentum,
                       .gain = run.step == 1 ? 1 : 1 - o.dampening,
                       .weight_decay = o.weight_decay,
                       .nesterov = o.nesterov};
  if (o.momentum == 0) {
    sgd_(flat.values(run), flat.grads(run), attrs);
  } else {
    sgd_momentum_(flat.values(run), flat.grads(run), flat.state(0, run), attrs);
  }
}

}  // namespace

template <class Options>
struct Optimizer<Options>::Part {
  std::size_t group;
  std::vector<std::size_t> numbers;  // of the parameters, over all groups
  FlatParameters flat;
};

template <class Options>
Optimizer<Options>::Optimizer(std::vector<Group> groups) {
  std::size_t number = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    check(groups[g].options);
    options_.push_back(groups[g].options);
    std::map<DType, std::pair<std::vector<Tensor>, std::vector<std::size_t>>> by_dtype;
    for (Tensor& x : groups[g].params) {
      if (!x.defined()) throw ArgumentError(cat("optimizer: parameter ", number, " is undefined"));
      auto& [tensors, numbers] = by_dtype[x.dtype()];
      tensors.push_back(std::move(x));
      numbers.push_back(number++);
    }
    for (auto& [dtype, members] : by_dtype) {
      const int states = static_cast<int>(state_names(options_[g]).size());
      parts_.push_back(std::make_unique<Part>(Part{g, std::move(members.second), FlatParameters(std::move(members.first), states)}));
    }
  }
}
template <class Options>
Optimizer<Options>::~Optimizer() = default;
template <class Options>
Optimizer<Options>::Optimizer(Optimizer&&) noexcept = default;
template <class Options>
Optimizer<Options>& Optimizer<Options>::operator=(Optimizer&&) noexcept = default;

template <class Options>
void Optimizer<Options>::step() {
  const NoGrad no_grad;
  for (const std::unique_ptr<Part>& part : parts_) {
    check(options_[part->group]);
    for (const FlatRun& run : part->flat.begin_step()) step_run(part->flat, run, options_[part->group]);
  }
}

template <class Options>
void Optimizer<Options>::zero_grad() {
  for (const std::unique_ptr<Part>& part : parts_) part->flat.clear_grads();
}

template <class Options>
std::vector<i64> Optimizer<Options>::steps() const {
  std::vector<i64> steps;
  for (const std::unique_ptr<Part>& part : parts_) {
    for (std::size_t p = 0; p < part->numbers.size(); ++p) {
      steps.resize(std::max(steps.size(), part->numbers[p] + 1));
      steps[part->numbers[p]] = part->flat.steps_of(p);
    }
  }
  return steps;
}

template <class Options>
void Optimizer<Options>::set_steps(const std::vector<i64>& steps) {
  if (const std::size_t own = this->steps().size(); own != steps.size())
    throw ArgumentError(cat("optimizer: steps of ", steps.size(), " parameters are given; it has ", own));
  for (const std::unique_ptr<Part>& part : parts_) {
    for (std::size_t p = 0; p < part->numbers.size(); ++p) part->flat.steps_of(p) = steps[part->numbers[p]];
  }
}

template <class Options>
NamedTensors Optimizer<Options>::state_dict() const {
  NamedTensors named;
  for (const std::unique_ptr<Part>& part : parts_) {
    const std::vector<std::string_view> names = state_names(options_[part->group]);
    for (std::size_t p = 0; p < part->numbers.size(); ++p) {
      const std::string prefix = cat(part->numbers[p], ".");
      for (std::size_t s = 0; s < names.size(); ++s) named.emplace_back(cat(prefix, names[s]), part->flat.state_of(static_cast<int>(s), p));
      const i64 steps[] = {part->flat.steps_of(p)};
      named.emplace_back(cat(prefix, "step"), Tensor::of(std::span<const i64>(steps), Shape()));
    }
  }
  return named;
}

template <class Options>
void Optimizer<Options>::load_state_dict(const NamedTensors& state) {
  const NamedTensors own = state_dict();
  std::map<std::string_view, const Tensor*> given;
  for (const auto& [name, tensor] : state) given[name] = &tensor;
  for (const auto& [name, tensor] : own) {
    const auto found = given.find(name);
    if (found == given.end()) throw ArgumentError(cat("optimizer: the state lacks \"", name, "\""));
    if (!(found->second->shape() == tensor.shape()))
      throw ShapeError(
          cat("optimizer: size mismatch for ", name, ": it has ", found->second->shape(), " and should have ", tensor.shape()));
  }
  if (given.size() != own.size())
    throw ArgumentError(cat("optimizer: the state has ", given.size(), " entries; there should be ", own.size()));
  const NoGrad no_grad;
  for (const std::unique_ptr<Part>& part : parts_) {
    const std::vector<std::string_view> names = state_names(options_[part->group]);
    for (std::size_t p = 0; p < part->numbers.size(); ++p) {
      const std::string prefix = cat(part->numbers[p], ".");
      for (std::size_t s = 0; s < names.size(); ++s) assign(part->flat.state_of(static_cast<int>(s), p), *given.at(cat(prefix, names[s])));
      part->flat.steps_of(p) = given.at(cat(prefix, "step"))->template item<i64>();
    }
  }
}

template class Optimizer<AdamWOptions>;
template class Optimizer<SGDOptions>;

double clip_grad_norm_(const std::vector<Tensor>& params, double max_norm) {
  const NoGrad no_grad;
  std::vector<Tensor> grads;
  for (const Tensor& x : params) {
    if (const Tensor g = grad(x); g.defined()) grads.push_back(g);
  }
  double squares = 0;
  for (const Tensor& g : joined_neighbours(grads)) {
    const double part = norm(g).item<double>();
    squares += part * part;
  }
  const double total = std::sqrt(squares);
  const double factor = max_norm / (total + 1e-6);
  if (factor < 1) {
    for (const Tensor& g : joined_neighbours(grads)) mul_(g, factor);
  }
  return total;
}

double WarmupCosine::operator()(i64 step) const {
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (step >= total) return floor;
  const double done = static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
  return floor + (peak - floor) * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

}  // namespace resilin::optim
