// src/resilin/parallel/step_state.cpp -- StepState: registered, moved into one memory, saved and loaded.
#include "resilin/parallel/step_state.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "resilin/base/error.h"
#include "resilin/base/hash.h"
#include "resilin/base/json.h"
#include "resilin/base/text.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/dist/wire/codec.h"
#include "resilin/parallel/digest.h"
#include "resilin/parallel/healing.h"

namespace resilin::parallel {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::string_view kHost = "host.";

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Host parts as they travel.
struct HostBytes {
  std::vector<std::string> names;
  std::vector<std::string> values;
  static constexpr auto fields() { return std::tuple{field("names", &HostBytes::names), field("values", &HostBytes::values)}; }
};

Tensor tensor_of(const std::string& bytes) {
  const Tensor x = Tensor::allocate(Shape{static_cast<i64>(bytes.size())}, DType::U8);
  if (!bytes.empty()) std::memcpy(x.data(), bytes.data(), bytes.size());
  return x;
}

}  // namespace

void StepState::require_open(const std::string& name) const {
  if (is_sealed()) throw ArgumentError(cat("step state: \"", name, "\" comes too late; everything is registered before the first step"));
  const bool is_known =
      std::ranges::count(tensors_, name, &NamedTensor::first) > 0 || std::ranges::count(parts_, name, &HostPart::name) > 0;
  if (is_known) throw ArgumentError(cat("step state: \"", name, "\" is registered twice"));
}

void StepState::add(std::string name, const Tensor& x) {
  require_open(name);
  if (!x.defined()) throw ArgumentError(cat("step state: \"", name, "\" is an undefined tensor"));
  tensors_.emplace_back(std::move(name), x);
}

void StepState::add(HostPart part) {
  require_open(part.name);
  parts_.push_back(std::move(part));
}

void StepState::add_generator(Generator& generator) {
  add({"generator",
       [&generator] {
         return bytes_of_numbers({generator.seed(), generator.offset()});
       },
       [&generator](std::string_view bytes) {
         const std::vector<i64> numbers = numbers_of_bytes(bytes);
         if (numbers.size() != 2)
           throw DistError(cat("step state: a generator has seed and offset; ", numbers.size(), " numbers were given"));
         generator.manual_seed(numbers[0]);
         generator.set_offset(numbers[1]);
       }});
}

void StepState::seal() {
  if (is_sealed()) return;
  std::vector<Storage> storages;
  for (const auto& [name, tensor] : tensors_) {
    if (std::ranges::find(storages, tensor.storage()) == storages.end()) storages.push_back(tensor.storage());
  }
  std::uint64_t bytes = 0;
  for (const Storage& storage : storages) bytes += aligned(static_cast<std::uint64_t>(storage.size_bytes()));
  tensors_begin_ = donor_bytes_before_tensors();
  memory_ = dist::WindowMemory(tensors_begin_ + bytes + donor_bytes_after_tensors(bytes));
  const Tensor whole = memory_.tensor();
  tensor_bytes_ = {static_cast<std::byte*>(whole.data()) + tensors_begin_, bytes};
  std::byte* at = tensor_bytes_.data();
  for (const Storage& storage : storages) {
    storage.move_to(at, [whole] {});
    at += aligned(static_cast<std::uint64_t>(storage.size_bytes()));
  }
}

std::uint64_t StepState::digest(std::size_t part, std::size_t parts) const {
  const std::span<const std::byte> bytes = tensor_bytes_;
  const std::size_t begin = bytes.size() / parts * part, end = part + 1 == parts ? bytes.size() : bytes.size() / parts * (part + 1);
  return hash_mix(hash_text(save_host_parts()), digest_of(bytes.subspan(begin, end - begin)));
}

// ---- saved and loaded

std::string StepState::save_host_parts() const {
  HostBytes all;
  for (const HostPart& part : parts_) {
    all.names.push_back(part.name);
    all.values.push_back(part.save());
  }
  return dist::encode(all);
}

void StepState::load_host_parts(std::string_view bytes) {
  const HostBytes all = dist::decode<HostBytes>(bytes);
  bool fits = all.names.size() == parts_.size() && all.values.size() == parts_.size();
  for (std::size_t i = 0; fits && i < parts_.size(); ++i) fits = all.names[i] == parts_[i].name;
  if (!fits) throw DistError(cat("step state: the other one has the parts ", all.names, "; they must be registered alike on all ranks"));
  for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].load(all.values[i]);
}

std::string StepState::bytes_of_numbers(const std::vector<i64>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(i64)};
}
std::vector<i64> StepState::numbers_of_bytes(std::string_view bytes) {
  if (bytes.size() % sizeof(i64) != 0) throw DistError(cat("step state: ", bytes.size(), " bytes are no numbers of 8 bytes"));
  std::vector<i64> numbers(bytes.size() / sizeof(i64));
  if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

Checkpoint StepState::checkpoint(i64 step) const {
  Checkpoint checkpoint{.step = step, .tensors = tensors_, .metadata = write_json(Json::Object{{"step_state", i64{2}}, {"step", step}})};
  for (const HostPart& part : parts_) checkpoint.tensors.emplace_back(cat(kHost, part.name), tensor_of(part.save()));
  return checkpoint;
}

void StepState::restore(const Checkpoint& checkpoint) {
  std::map<std::string_view, const Tensor*> given;
  for (const auto& [name, tensor] : checkpoint.tensors) given[name] = &tensor;
  const auto need = [&](const std::string& name) -> const Tensor& {
    const auto found = given.find(name);
    if (found == given.end()) throw IoError(cat("restore: the checkpoint of step ", checkpoint.step, " lacks \"", name, "\""));
    return *found->second;
  };
  for (const auto& [name, tensor] : tensors_) {
    const Tensor& value = need(name);
    if (value.dtype() != tensor.dtype())
      throw DtypeError(cat("restore: \"", name, "\" is ", value.dtype(), " in the checkpoint and should be ", tensor.dtype()));
    if (!(value.shape() == tensor.shape()))
      throw ShapeError(cat("restore: \"", name, "\" has shape ", value.shape(), " in the checkpoint and should have ", tensor.shape()));
  }
  for (const HostPart& part : parts_) {
    if (need(cat(kHost, part.name)).dtype() != DType::U8) throw DtypeError(cat("restore: \"host.", part.name, "\" must be bytes"));
  }
  if (const std::size_t own = tensors_.size() + parts_.size(); given.size() != own)
    throw IoError(cat("restore: the checkpoint of step ", checkpoint.step, " has ", given.size(), " entries; there should be ", own));
  const NoGrad no_grad;
  for (const auto& [name, tensor] : tensors_) assign(tensor, need(name));
  for (const HostPart& part : parts_) {
    const Tensor& bytes = need(cat(kHost, part.name));
    part.load({static_cast<const char*>(bytes.data()), static_cast<std::size_t>(bytes.numel().value())});
  }
}

}  // namespace resilin::parallel
