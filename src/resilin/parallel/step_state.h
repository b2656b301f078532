// src/resilin/parallel/step_state.h -- StepState: all that training changes from step to step, in one memory that other ranks can read.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resilin/base/api.h"
#include "resilin/dist/group/window.h"
#include "resilin/io/checkpoint.h"
#include "resilin/nn/module.h"
#include "resilin/optim/optimizer.h"
#include "resilin/tensor/generator.h"
#include "resilin/tensor/named_tensors.h"

namespace resilin::parallel {

/// A part of the state that is no tensor, as bytes.
struct HostPart {
  std::string name;
  std::function<std::string()> save;
  std::function<void(std::string_view bytes)> load;
};

/// Parameters, optimizer, buffers, averages, counters: what a rank needs of another one to take its place. It is registered once; then all tensors move
/// into one memory, where they stay: handles follow, and so do all views of the same storage. A model whose every change is registered can be healed and
/// resumed; what is not registered is lost with its rank.
///
/// Between two applies of a step nobody may write it: joining ranks read it then.
///
/// Errors   ArgumentError for a name that is registered twice, and after `seal`
/// Threads  one
class RESILIN_API StepState {
 public:
  StepState() = default;
  StepState(const StepState&) = delete;
  StepState& operator=(const StepState&) = delete;

  void add(std::string name, const Tensor& x);
  void add(HostPart part);
  /// "generator": seed and offset, of a program whose random numbers are not those of slots. It must outlive this.
  void add_generator(Generator& generator);
  /// "model.<parameter>": parameters, and buffers such as running statistics.
  template <Reflected Model>
  void add_model(const Model& model) {
    for (const auto& [name, tensor] : nn::named_parameters(model)) add(cat("model.", name), tensor);
  }
  /// "optimizer.<number>.<state>", and the counts of steps.
  template <class Options>
  void add_optimizer(optim::Optimizer<Options>& optimizer) {
    for (const auto& [name, tensor] : optimizer.state_dict()) {
      if (!name.ends_with(".step")) add(cat("optimizer.", name), tensor);
    }
    add(HostPart{"optimizer.steps", [&optimizer] { return bytes_of_numbers(optimizer.steps()); },
                 [&optimizer](std::string_view bytes) { optimizer.set_steps(numbers_of_bytes(bytes)); }});
  }

  /// Moves the tensors; nothing is registered any more. Again: nothing.
  void seal();
  bool is_sealed() const { return memory_.defined(); }
  const dist::WindowMemory& memory() const { return memory_; }

  /// The digest of part `part` of `parts` of the tensors, and of all that is no tensor.
  std::uint64_t digest(std::size_t part, std::size_t parts) const;
  std::uint64_t digest() const { return digest(0, 1); }

  /// Everything under its name, host parts as bytes "host.<name>" (u8), with the number of the step in `step`.
  Checkpoint checkpoint(i64 step) const;
  /// IoError, ShapeError, DtypeError when it is none of this state; nothing is written then.
  void restore(const Checkpoint& checkpoint);

  // For healing: what is no tensor in one piece, and the tensors in one piece of memory.
  std::string save_host_parts() const;
  /// DistError for bytes that save_host_parts has not written; nothing is loaded then.
  void load_host_parts(std::string_view bytes);
  /// Where the tensors lie in `memory`.
  std::uint64_t tensors_begin() const { return tensors_begin_; }
  std::span<std::byte> tensor_bytes() const { return tensor_bytes_; }

  static std::string bytes_of_numbers(const std::vector<i64>& numbers);
  /// DistError for bytes that are no whole numbers.
  static std::vector<i64> numbers_of_bytes(std::string_view bytes);

 private:
  void require_open(const std::string& name) const;

  NamedTensors tensors_;
  std::vector<HostPart> parts_;
  dist::WindowMemory memory_;
  std::uint64_t tensors_begin_ = 0;
  std::span<std::byte> tensor_bytes_;  // of the memory
};

}  // namespace resilin::parallel
