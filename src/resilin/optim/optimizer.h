// src/resilin/optim/optimizer.h -- optimizers: AdamW and SGD over groups of parameters.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "resilin/base/api.h"
#include "resilin/tensor/named_tensors.h"

namespace resilin::optim {

struct RESILIN_API AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
};
struct RESILIN_API SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

/// Parameters with options of their own.
template <class Options>
struct ParamGroup {
  std::vector<Tensor> params;
  Options options;
};

class FlatParameters;

/// The step of an algorithm over groups of parameters: one launch for each group and dtype. Parameters without a gradient are passed over.
///
/// The constructor moves the elements of the parameters into one memory per group and dtype (the handles stay; views made before show the old memory), and
/// backward writes their gradients into one memory as well.
/// Errors  ArgumentError for options out of range and for parameters that are no leaves or listed twice
template <class Options>
class RESILIN_API Optimizer {
 public:
  using Group = ParamGroup<Options>;
  explicit Optimizer(std::vector<Tensor> params, Options options = {}) : Optimizer(std::vector<Group>{{std::move(params), options}}) {}
  explicit Optimizer(std::vector<Group> groups);
  ~Optimizer();
  Optimizer(Optimizer&&) noexcept;
  Optimizer& operator=(Optimizer&&) noexcept;

  void step();
  /// Takes the gradients away.
  void zero_grad();
  /// The options of group g, which may be changed between steps.
  Options& options(std::size_t g = 0) { return options_[g]; }
  void set_lr(double lr) {
    for (Options& each : options_) each.lr = lr;
  }

  /// How many steps each parameter has taken, in their order.
  std::vector<i64> steps() const;
  /// ArgumentError for another number of parameters.
  void set_steps(const std::vector<i64>& steps);
  /// The state by name, "<number of the parameter>.exp_avg" and so on, as views that may be written; "<number>.step" counts its steps.
  NamedTensors state_dict() const;
  /// ArgumentError for names that are missing or unexpected, ShapeError; nothing is written then.
  void load_state_dict(const NamedTensors& state);

 private:
  struct Part;  // the parameters of a group that share a dtype
  std::vector<Options> options_;
  std::vector<std::unique_ptr<Part>> parts_;
};

extern template class Optimizer<AdamWOptions>;
extern template class Optimizer<SGDOptions>;
using AdamW = Optimizer<AdamWOptions>;
using SGD = Optimizer<SGDOptions>;

/// Scales the gradients down so that their common 2-norm is at most `max_norm`; gives back the norm before. Parameters without gradients do not count.
RESILIN_API double clip_grad_norm_(const std::vector<Tensor>& params, double max_norm);

/// lr(step) = peak (step + 1) / warmup while step < warmup, then half a cosine down to `floor` at `total` steps, then `floor`.
struct WarmupCosine {
  double peak = 1e-3;
  double floor = 1e-4;
  i64 warmup = 100;
  i64 total = 1000;
  RESILIN_API double operator()(i64 step) const;
};

}  // namespace resilin::optim
