// examples/01_tensors.cpp -- tensors, an op, an in-place update, an error.
#include <iostream>

#include "resilin/resilin.h"

using namespace resilin;

int main() {
  const Tensor x = reshape(arange(0, 6), {2, 3});
  std::cout << x / 2 << "\n";
  std::cout << softmax(x * 0.5) << "\n";
  Tensor y = zeros({3});
  add_(y, sum(x, {.axes = {0}}));
  std::cout << y << "\n";
  try {
    matmul(zeros({8, 16}), zeros({17, 4}));
  } catch (const ShapeError& error) {
    std::cout << error.what() << "\n";
  }
}
