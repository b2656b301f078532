// tools/resilin/tour.cpp -- the tour that `make tour` prints.
#include "tools/resilin/tour.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <vector>

#include "resilin/resilin.h"

namespace resilin::tool {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

// Runs `make` with the nests of new kernels shown, prints its result, then the time of the first call and the median of 101 more.
template <class Make>
void show_kernel(const char* title, const Make& make) {
  std::cout << "\n--- " << title << "\n" << std::flush;
  const Clock::time_point begin = Clock::now();
  Tensor result;
  {
    const config::ScopedConfig nests("show", "nest");
    result = make();
  }
  const double first = milliseconds(begin, Clock::now());
  std::vector<double> times;
  for (int i = 0; i < 101; ++i) {
    const Clock::time_point start = Clock::now();
    make();
    times.push_back(milliseconds(start, Clock::now()));
  }
  std::nth_element(times.begin(), times.begin() + 50, times.end());
  std::cout << result << "\nfirst call " << std::fixed << std::setprecision(2) << first << " ms, then " << times[50] * 1000 << " us\n";
}

}  // namespace

int tour() {
  std::cout << "Resilin: a tour of tensors. Each nest below is the loop program of a kernel that was made for the call above it.\n\n";
  const Tensor x = reshape(arange(0, 12), {3, 4});
  std::cout << "x = reshape(arange(0, 12), {3, 4})\n" << x << "\n\n";
  std::cout << "x / 2 (integers divide as f32)\n" << x / 2 << "\n\n";
  std::cout << "transpose(x, 0, 1): a view\n" << transpose(x, 0, 1) << "\n";

  Generator generator(7);
  const Tensor a = rand({4, 6}, DType::F32, &generator);
  show_kernel("softmax(a): one kernel, the row stays in cache between its three passes", [&] { return softmax(a); });
  show_kernel("gelu(a * 2 + 1), as three eager ops", [&] { return gelu(a * 2 + 1); });
  show_kernel("sum(a, axis 0)", [&] { return sum(a, {.axes = {0}}); });
  show_kernel("matmul(a, transpose(a))", [&] { return matmul(a, transpose(a, 0, 1)); });

  Tensor y = zeros({2, 3});
  add_(y, 1.5);
  std::cout << "\n--- add_(y, 1.5) writes y's own memory: version " << y.version() << "\n" << y << "\n";
  try {
    matmul(zeros({8, 16}), zeros({17, 4}));
  } catch (const Error& error) {
    std::cout << "\n--- an error: " << error.what() << "\n";
  }
  return 0;
}

}  // namespace resilin::tool
