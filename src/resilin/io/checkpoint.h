// src/resilin/io/checkpoint.h -- training checkpoints in a folder, whole after any crash of their writer.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "resilin/io/safetensors.h"

namespace resilin {

/// The state of a training run after a step.
struct Checkpoint {
  i64 step = 0;
  NamedTensors tensors;
  std::string metadata = "{}";  // JSON, the owner's
};

/// Writes the checkpoint as `step-<n>.safetensors` into the folder, which is made when missing, names it in the file `latest`, and then removes
/// all but it and the `keep` - 1 others with the greatest steps. Each file is replaced at once after its bytes are on the disk: whenever the
/// process dies, `load_latest` gives this checkpoint or the one before. What a dead writer left is removed. One writer at a time: others wait.
///
/// `may_name` is asked when this is the only writer and nothing is written yet, with the step that `latest` names; what it throws, this throws, and
/// the folder is what it was.
///
/// ArgumentError for a negative step, keep < 1 and metadata that is no JSON; else as write_safetensors.
RESILIN_API void save_checkpoint(const std::string& folder, const Checkpoint& checkpoint, i64 keep = 3,
                                 const std::function<void(std::optional<i64> latest)>& may_name = nullptr);

/// The checkpoint that `latest` names, when it is whole (its content has the hash that was written with it); else, with a warning in the log,
/// the whole one with the greatest step. Nothing when the folder is missing or holds no checkpoint; IoError when it holds only damaged ones.
/// The tensors are sorted by name and are views of the mapped file, as those of read_safetensors.
RESILIN_API std::optional<Checkpoint> load_latest(const std::string& folder);

}  // namespace resilin
