// src/resilin/ops/pointwise/pointwise.cpp -- Internal: formulas, references and samples that pointwise ops share.
#include "resilin/ops/pointwise/pointwise.h"

namespace resilin::ops {
namespace {

Shape matrix() { return {Dim::symbol('s', 0), Dim::symbol('s', 1)}; }

}  // namespace

loop::Scalar larger(const loop::Scalar& a, const loop::Scalar& b) { return a.dtype() == DType::Bool ? a | b : loop::max(a, b); }
loop::Scalar smaller(const loop::Scalar& a, const loop::Scalar& b) { return a.dtype() == DType::Bool ? a & b : loop::min(a, b); }

std::vector<ir::Sample> samples_unary() { return {{{{.shape = matrix()}}, {}, {3, 37}}}; }

std::vector<ir::Sample> samples_positive() { return {{{{.shape = matrix(), .fill = ir::Fill::Positive}}, {}, {3, 37}}}; }

std::vector<ir::Sample> samples_binary() {
  const ir::SampleInput full{.shape = matrix()};
  return {{{full, full}, {}, {3, 37}},
          {{full, {.shape = {matrix()[1]}}}, {}, {3, 37}},
          {{{.shape = {matrix()[0], 1}}, full}, {}, {3, 37}},
          {{full, {.shape = {}}}, {}, {3, 37}},
          {{full, {.number = Number(2.5)}}, {}, {3, 37}},
          {{{.number = Number(3)}, full}, {}, {3, 37}}};
}

std::vector<ir::Sample> samples_divisor() {
  const ir::SampleInput full{.shape = matrix()};
  const ir::SampleInput divisor{.shape = matrix(), .fill = ir::Fill::Divisor};
  return {{{full, divisor}, {}, {3, 37}}, {{full, {.number = Number(3)}}, {}, {3, 37}}};
}

}  // namespace resilin::ops
