// src/resilin/nn/module.h -- modules: plain structs whose fields() name their parameters, as state_dict keys do.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "resilin/base/reflect.h"
#include "resilin/tensor/named_tensors.h"

namespace resilin::nn {

// A module is a plain struct with fields(): Tensors are its parameters, structs with fields() its children, lists of them are numbered from 0, an optional
// may be absent, and other members are settings. A copy shares the parameters.
//
//   struct Pair {
//     Linear first, second;
//     static constexpr auto fields() { return std::tuple{field("first", &Pair::first), field("second", &Pair::second)}; }
//   };

namespace detail {

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = Reflected<T>;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = Reflected<T>;

/// Calls visit(prefix, child) for every child of a module.
template <class M, class Visit>
void for_each_child(M& module, const std::string& prefix, Visit&& visit) {
  for_each_field(module, [&]<class T>(const auto& field, T& member) {
    using Member = std::remove_const_t<T>;
    const std::string name = cat(prefix, field.name, ".");
    if constexpr (kIsList<Member>) {
      for (std::size_t i = 0; i < member.size(); ++i) visit(cat(name, i, "."), member[i]);
    } else if constexpr (kIsOptional<Member>) {
      if (member) visit(name, *member);
    } else if constexpr (Reflected<Member>) {
      visit(name, member);
    }
  });
}

}  // namespace detail

/// Calls visit(module) for a module and all below it, parents first.
template <Reflected M, class Visit>
void for_each_module(M& module, Visit&& visit) {
  visit(module);
  detail::for_each_child(module, "", [&](const std::string&, auto& child) { for_each_module(child, visit); });
}

/// Calls visit(name, tensor) for every tensor of a module that is defined: its own first, then its children's, as PyTorch orders them.
template <Reflected M, class Visit>
void for_each_tensor(M& module, Visit&& visit, const std::string& prefix = "") {
  for_each_field(module, [&]<class T>(const auto& field, T& member) {
    if constexpr (std::is_same_v<std::remove_const_t<T>, Tensor>) {
      if (member.defined()) visit(cat(prefix, field.name), member);
    }
  });
  detail::for_each_child(module, prefix, [&](const std::string& name, auto& child) { for_each_tensor(child, visit, name); });
}

/// All tensors by name; one that is used in two places is there twice.
template <Reflected M>
NamedTensors state_dict(const M& module) {
  NamedTensors named;
  for_each_tensor(module, [&](std::string name, const Tensor& x) { named.push_back({std::move(name), x}); });
  return named;
}

/// Each tensor once, under its first name.
RESILIN_API NamedTensors without_repeats(NamedTensors named);
template <Reflected M>
NamedTensors named_parameters(const M& module) {
  return without_repeats(state_dict(module));
}
template <Reflected M>
std::vector<Tensor> parameters(const M& module) {
  std::vector<Tensor> tensors;
  for (NamedTensor& entry : named_parameters(module)) tensors.push_back(std::move(entry.second));
  return tensors;
}

/// Writes `values` into the tensors of `state`, by name; nothing is written unless everything fits.
/// ArgumentError naming keys that are missing or unexpected (not with strict = false), ShapeError for sizes that differ: torch's words.
RESILIN_API void load_into(std::span<const NamedTensor> state, std::span<const NamedTensor> values, bool strict = true);
template <Reflected M>
void load_state_dict(const M& module, std::span<const NamedTensor> values, bool strict = true) {
  load_into(state_dict(module), values, strict);
}

/// Sets `training` of every module that has it: what Dropout asks.
template <Reflected M>
void set_training(M& module, bool training) {
  for_each_module(module, [&](auto& m) {
    if constexpr (requires { m.training = training; }) m.training = training;
  });
}

}  // namespace resilin::nn
