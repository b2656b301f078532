// src/resilin/base/overloaded.h -- Internal: several lambdas as one callable, for std::visit.
#pragma once

namespace resilin {

template <class... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <class... Lambdas>
Overloaded(Lambdas...) -> Overloaded<Lambdas...>;

}  // namespace resilin
