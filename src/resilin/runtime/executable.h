// src/resilin/runtime/executable.h -- Executable: a plan with the code of its kernels, and how it runs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "resilin/codegen/compile.h"
#include "resilin/plan/plan.h"
#include "resilin/tensor/tensor.h"

namespace resilin {

/// The code of a nest, made at most once in a process for each text. Thread-safe.
std::shared_ptr<const Code> kernel_for(const loop::Nest& nest, const std::string& text);

/// Kernels and contractions launched by the calling thread so far; for tests, benches and the profiler.
i64 launch_count();

using Outputs = SmallVector<Tensor, 2>;
/// The integers of a plan for certain sizes: shapes, strides, extents, costs.
using PlanIntegers = SmallVector<i64, 40>;

/// A plan that can run. Immutable; calls from several threads are independent.
class Executable {
 public:
  /// Compiles or loads every kernel of the plan.
  explicit Executable(Plan plan);
  const Plan& plan() const { return plan_; }

  /// The plan's integers for these values of its symbols (plan().bindings). ShapeError where a size check fails.
  PlanIntegers evaluate(std::span<const i64> symbols) const;

  /// Runs the steps on the graph's inputs, values of symbols, what `evaluate` made of them, and numbers, in order.
  /// The caller vouches that the inputs have the dtypes and layouts of the graph's input types (see `run_checked`).
  /// Throws what a kernel reports (IndexError, NumericError), MemoryError.
  Outputs run(std::span<const Tensor* const> inputs, std::span<const i64> symbols, std::span<const i64> integers,
              std::span<const Number> numbers) const;

 private:
  Outputs run_one_kernel(std::span<const Tensor* const> inputs, std::span<const i64> integers, std::span<const Number> numbers) const;

  Plan plan_;
  std::vector<std::shared_ptr<const Code>> code_;  // per step; null for steps without a kernel
  bool is_one_kernel_ = false;                     // the plan of most eager calls: allocate the result, launch the kernel
};

/// As Executable::run, after checking every input against its type and every size against what was declared of it: ShapeError or ArgumentError naming it.
Outputs run_checked(const Executable& executable, std::span<const Tensor* const> inputs, std::span<const i64> parameters,
                    std::span<const Number> numbers);

}  // namespace resilin
