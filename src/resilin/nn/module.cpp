// src/resilin/nn/module.cpp -- modules: plain structs whose fields() name their parameters, as state_dict keys do.
#include "resilin/nn/module.h"

#include <algorithm>
#include <map>

#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"

namespace resilin::nn {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += cat(out.empty() ? "\"" : ", \"", name, "\"");
  return out;
}

}  // namespace

NamedTensors without_repeats(NamedTensors named) {
  NamedTensors kept;
  for (NamedTensor& entry : named) {
    const auto is_same = [&](const NamedTensor& other) { return other.second.is_same(entry.second); };
    if (std::none_of(kept.begin(), kept.end(), is_same)) kept.push_back(std::move(entry));
  }
  return kept;
}

void load_into(std::span<const NamedTensor> state, std::span<const NamedTensor> values, bool strict) {
  std::map<std::string_view, const Tensor*> given;
  for (const NamedTensor& value : values) given[value.first] = &value.second;
  std::vector<std::string> missing;
  std::string wrong;
  for (const NamedTensor& entry : state) {
    const auto found = given.find(entry.first);
    if (found == given.end()) {
      missing.push_back(entry.first);
    } else if (!(found->second->shape() == entry.second.shape())) {
      wrong += cat(" size mismatch for ", entry.first, ": copying a param with shape ", found->second->shape(),
                   " from checkpoint, the shape in current model is ", entry.second.shape(), ".");
    }
  }
  std::vector<std::string> unexpected;
  for (const NamedTensor& value : values) {
    if (std::none_of(state.begin(), state.end(), [&](const NamedTensor& entry) { return entry.first == value.first; }))
      unexpected.push_back(value.first);
  }
  if (!wrong.empty()) throw ShapeError(cat("Error(s) in loading state_dict:", wrong));
  if (strict && (!missing.empty() || !unexpected.empty())) {
    throw ArgumentError(
        cat("Error(s) in loading state_dict:", missing.empty() ? std::string() : cat(" Missing key(s): ", joined(missing), "."),
            unexpected.empty() ? std::string() : cat(" Unexpected key(s): ", joined(unexpected), ".")));
  }
  const NoGrad no_grad;
  for (const NamedTensor& entry : state) {
    const auto found = given.find(entry.first);
    if (found != given.end()) assign(entry.second, *found->second);
  }
}

}  // namespace resilin::nn
