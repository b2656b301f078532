// tests/docs/linked_program.cpp -- a user's debug build: inline code of public headers finds everything it calls in the library.
#include <iostream>

#include "resilin/resilin.h"

namespace {

using namespace resilin;

/// One value there and back, and the errors on the way.
template <class T>
bool passes(T value) {
  const Dim shape[] = {1};
  const Tensor x = Tensor::of(std::span<const T>(&value, 1), shape);
  try {
    Tensor::of(std::span<const T>(&value, 1), std::span<const Dim>{});
    x.data_as<std::conditional_t<std::is_same_v<T, double>, float, double>>();
    return false;
  } catch (const Error& error) {
    return x.item<double>() == static_cast<double>(value) && x.item<T>() == value && !std::string_view(error.what()).empty();
  }
}

}  // namespace

int main() {
  const bool all = passes(true) && passes(std::uint8_t{2}) && passes(std::int8_t{-2}) && passes(std::int16_t{3}) &&
                   passes(std::int32_t{4}) && passes(std::int64_t{5}) && passes(1.5F) && passes(2.5) && passes(F16(1.5F)) &&
                   passes(BF16(1.5F)) && passes(F8E4M3FN(1.5F)) && passes(F8E5M2(1.5F));
  std::cout << cat("all dtypes pass: ", all, "\n");
  return all ? 0 : 1;
}
