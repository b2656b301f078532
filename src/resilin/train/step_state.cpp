// src/resilin/train/step_state.cpp -- StepState: all that a training run is after a step, as one checkpoint.
#include "resilin/train/step_state.h"

#include <string_view>

#include "resilin/base/json.h"

namespace resilin::train {
namespace {

constexpr std::string_view kModel = "model.";
constexpr std::string_view kOptimizer = "optimizer.";
constexpr i64 kVersion = 1;

i64 integer(const Json& json, std::string_view key) {
  const Json* const found = json.find(key);
  if (found == nullptr || !found->is_integer()) throw IoError(cat("restore: the checkpoint has no integer \"", key, "\" in its metadata"));
  return found->integer();
}

}  // namespace

Checkpoint make_checkpoint(const NamedTensors& model, const NamedTensors& optimizer, const Progress& progress) {
  Checkpoint checkpoint;
  checkpoint.step = progress.step;
  for (const auto& [name, tensor] : model) checkpoint.tensors.emplace_back(cat(kModel, name), tensor);
  for (const auto& [name, tensor] : optimizer) checkpoint.tensors.emplace_back(cat(kOptimizer, name), tensor);
  const Generator& generator = default_generator();
  checkpoint.metadata = write_json(Json::Object{{"step_state", kVersion},
                                                {"step", progress.step},
                                                {"epoch", progress.position.epoch},
                                                {"batch", progress.position.step},
                                                {"seed", generator.seed()},
                                                {"offset", generator.offset()}});
  return checkpoint;
}

Restored restore(const Checkpoint& checkpoint) {
  const Json json = parse_json(checkpoint.metadata);
  if (!json.is_object()) throw IoError("restore: the metadata of the checkpoint is no JSON object");
  if (const i64 version = integer(json, "step_state"); version != kVersion)
    throw UnsupportedError(cat("restore: the checkpoint is of version ", version, "; this program reads version ", kVersion));
  Restored restored;
  restored.progress = {integer(json, "step"), {integer(json, "epoch"), integer(json, "batch")}};
  for (const auto& [name, tensor] : checkpoint.tensors) {
    const std::string_view text = name;
    if (text.starts_with(kModel)) {
      restored.model.emplace_back(text.substr(kModel.size()), tensor);
    } else if (text.starts_with(kOptimizer)) {
      restored.optimizer.emplace_back(text.substr(kOptimizer.size()), tensor);
    } else {
      throw IoError(cat("restore: the checkpoint has a tensor that belongs to neither model nor optimizer: \"", name, "\""));
    }
  }
  default_generator().manual_seed(integer(json, "seed"));
  default_generator().set_offset(integer(json, "offset"));
  return restored;
}

}  // namespace resilin::train
