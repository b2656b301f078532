// tests/oracle/pointwise_adapters.cpp -- calls of pointwise ops, casts and comparisons.
#include "resilin/dispatch/cast.h"
#include "resilin/ops/activation/gelu.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/clamp.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/pointwise/power.h"
#include "resilin/ops/pointwise/select.h"
#include "resilin/ops/pointwise/unary.h"
#include "resilin/ops/view/axes.h"

#include "tests/oracle/adapters.h"

namespace resilin::oracle {
namespace {

template <Tensor (*kFunction)(const Tensor&)>
Results unary(const Call& c) {
  return {kFunction(c.at(0).tensor())};
}

template <Tensor (*kFunction)(Input, Input)>
Results binary(const Call& c) {
  return {kFunction(c.at(0).input(), c.at(1).input())};
}

template <Tensor (*kFunction)(Input, Input)>
Results reflected(const Call& c) {
  return {kFunction(c.at(1).input(), c.at(0).input())};
}

// a + alpha b, with add or sub, or sub of the exchanged two.
template <Tensor (*kFunction)(Input, Input), std::size_t kFirst>
Results scaled(const Call& c) {
  const Argument alpha = c.at(2, "alpha");
  const Input a = c.at(kFirst).input();
  const Input b = c.at(1 - kFirst).input();
  if (alpha.is_none()) return {kFunction(a, b)};
  const Tensor product = mul(b, alpha.number());
  return {kFunction(a, product)};
}

Results call_div(const Call& c) {
  const Argument mode = c.at(2, "rounding_mode");
  const Input a = c.at(0).input();
  const Input b = c.at(1).input();
  if (mode.is_none()) return {div(a, b)};
  if (mode.text() == "floor") return {floor_divide(a, b)};
  return {trunc_divide(a, b)};
}

// A memory format is an order of strides, which are not compared.
template <DType kDType>
Results call_cast(const Call& c) {
  c.at(c.positional_count(), "memory_format");
  return {cast(c.at(0).tensor(), kDType)};
}

Results call_clamp(const Call& c) { return {clamp(c.at(0).tensor(), c.at(1, "min").input(), c.at(2, "max").input())}; }
Results call_clamp_min(const Call& c) { return {clamp_min(c.at(0).tensor(), c.at(1, "min").input())}; }
Results call_clamp_max(const Call& c) { return {clamp_max(c.at(0).tensor(), c.at(1, "max").input())}; }
Results call_masked_fill(const Call& c) { return {masked_fill(c.at(0).tensor(), c.at(1).tensor(), c.at(2).input())}; }
// The database puts the condition second.
Results call_where(const Call& c) { return {where(c.at(1).tensor(), c.at(0).input(), c.at(2).input())}; }

Results call_gelu(const Call& c) {
  const std::string approximate = c.at(1, "approximate").text();
  if (approximate != "none" && approximate != "tanh") throw NotOurs{cat("approximate is ", approximate)};
  return {gelu(c.at(0).tensor(), {.approximate = approximate == "tanh" ? GeluApproximation::Tanh : GeluApproximation::None})};
}

constexpr Adapter kAdapters[] = {
    {"__radd__", reflected<add>},
    {"__rdiv__", reflected<div>},
    {"__rmul__", reflected<mul>},
    {"__rpow__", reflected<pow>},
    {"__rsub__", reflected<sub>},
    {"abs", unary<abs>},
    {"add", scaled<add, 0>},
    {"bfloat16", call_cast<DType::BF16>},
    {"bool", call_cast<DType::Bool>},
    {"ceil", unary<ceil>},
    {"clamp", call_clamp},
    {"clamp_max", call_clamp_max},
    {"clamp_min", call_clamp_min},
    {"clone", unary<clone>},
    {"contiguous", unary<contiguous>},
    {"cos", unary<cos>},
    {"div.floor_rounding", call_div},
    {"div.no_rounding_mode", call_div},
    {"div.trunc_rounding", call_div},
    {"double", call_cast<DType::F64>},
    {"eq", binary<eq>},
    {"erf", unary<erf>},
    {"exp", unary<exp>},
    {"expm1", unary<expm1>},
    {"float", call_cast<DType::F32>},
    {"floor", unary<floor>},
    {"floor_divide", binary<floor_divide>},
    {"ge", binary<ge>},
    {"gt", binary<gt>},
    {"half", call_cast<DType::F16>},
    {"int", call_cast<DType::I32>},
    {"isfinite", unary<isfinite>},
    {"isinf", unary<isinf>},
    {"isnan", unary<isnan>},
    {"le", binary<le>},
    {"log", unary<log>},
    {"log1p", unary<log1p>},
    {"logical_and", binary<logical_and>},
    {"logical_not", unary<logical_not>},
    {"logical_or", binary<logical_or>},
    {"logical_xor", binary<logical_xor>},
    {"long", call_cast<DType::I64>},
    {"lt", binary<lt>},
    {"masked_fill", call_masked_fill},
    {"max.binary", binary<maximum>},
    {"maximum", binary<maximum>},
    {"min.binary", binary<minimum>},
    {"minimum", binary<minimum>},
    {"mul", binary<mul>},
    {"ne", binary<ne>},
    {"neg", unary<neg>},
    {"nn.functional.gelu", call_gelu},
    {"nn.functional.relu", unary<relu>},
    {"nn.functional.silu", unary<silu>},
    {"pow", binary<pow>},
    {"reciprocal", unary<reciprocal>},
    {"round", unary<round>},
    {"rsqrt", unary<rsqrt>},
    {"rsub", scaled<sub, 1>},
    {"sigmoid", unary<sigmoid>},
    {"sign", unary<sign>},
    {"sin", unary<sin>},
    {"sqrt", unary<sqrt>},
    {"square", unary<square>},
    {"sub", scaled<sub, 0>},
    {"tanh", unary<tanh>},
    {"true_divide", binary<div>},
    {"trunc", unary<trunc>},
    {"where", call_where},
};

}  // namespace

std::span<const Adapter> pointwise_adapters() { return kAdapters; }

}  // namespace resilin::oracle
