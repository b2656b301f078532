// src/resilin/train/step_state.h -- StepState: all that a training run is after a step, as one checkpoint.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resilin/data/byte_batches.h"
#include "resilin/io/checkpoint.h"
#include "resilin/nn/module.h"
#include "resilin/optim/optimizer.h"
#include "resilin/tensor/generator.h"

namespace resilin::train {

/// What is no tensor. The schedule is a function of the step, so it needs nothing of its own.
struct Progress {
  i64 step = 0;             // how many steps were taken
  data::Position position;  // of the next batch
};

/// A run that goes on from such a checkpoint takes the same steps, bit for bit: it holds the model, the optimizer's state, the position in the data and the
/// seed and offset of this thread's generator.
RESILIN_API Checkpoint make_checkpoint(const NamedTensors& model, const NamedTensors& optimizer, const Progress& progress);
template <Reflected Model, class Options>
Checkpoint make_checkpoint(const Model& model, const optim::Optimizer<Options>& optimizer, const Progress& progress) {
  return make_checkpoint(nn::state_dict(model), optimizer.state_dict(), progress);
}

/// The two parts of a checkpoint's tensors, and its progress; the generator of this thread is set. IoError when the checkpoint is none of a StepState.
struct Restored {
  NamedTensors model, optimizer;
  Progress progress;
};
RESILIN_API Restored restore(const Checkpoint& checkpoint);
/// Loads model and optimizer, and gives the progress. ArgumentError, ShapeError when they are others than those of the checkpoint.
template <Reflected Model, class Options>
Progress restore(const Checkpoint& checkpoint, const Model& model, optim::Optimizer<Options>& optimizer) {
  const Restored restored = restore(checkpoint);
  nn::load_state_dict(model, restored.model);
  optimizer.load_state_dict(restored.optimizer);
  return restored.progress;
}

}  // namespace resilin::train
