// tests/autograd/leaf.h -- leaves, and the words of errors.
#pragma once

#include <initializer_list>
#include <string>
#include <typeinfo>
#include <vector>

#include "resilin/autograd/backward.h"
#include "resilin/autograd/history.h"

#include "tests/support/tensor.h"

namespace resilin::test {

inline Tensor leaf(std::initializer_list<double> values, std::initializer_list<Dim> shape) {
  return requires_grad_(make<double>(values, shape));
}
inline Tensor leaf(std::initializer_list<double> values) { return requires_grad_(make<double>(values)); }
inline Tensor leaf(double value) { return requires_grad_(scalar<double>(value)); }

using Values = std::vector<double>;

/// What the call throws; "" when it throws nothing or another type.
template <class E, class Call>
std::string words_of(const Call& call) {
  try {
    call();
  } catch (const Error& e) {
    return typeid(e) == typeid(E) ? e.what() : std::string("another type: ") + e.what();
  }
  return "";
}
inline bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

}  // namespace resilin::test
