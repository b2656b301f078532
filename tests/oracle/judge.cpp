// tests/oracle/judge.cpp -- whether a call of ours agrees with what PyTorch answered.
#include "tests/oracle/judge.h"

#include <cmath>

#include "resilin/autograd/backward.h"
#include "resilin/autograd/history.h"
#include "resilin/dispatch/cast.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/view/axes.h"

namespace resilin::oracle {
namespace {

struct Tolerance {
  double relative, absolute;
};
Tolerance tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::F16: return {1e-3, 1e-5};
    case DType::BF16: return {1.6e-2, 1e-5};
    case DType::F64: return {1e-7, 1e-7};
    default: return {1.3e-6, 1e-5};
  }
}

bool close(double ours, double torchs, Tolerance tolerance) {
  if (std::isnan(ours) || std::isnan(torchs)) return std::isnan(ours) && std::isnan(torchs);
  if (std::isinf(ours) || std::isinf(torchs)) return ours == torchs;
  return std::abs(ours - torchs) <= tolerance.absolute + tolerance.relative * std::abs(torchs);
}

template <class T>
std::string first_difference(const Tensor& ours, const Tensor& torchs) {
  const T* const a = static_cast<const T*>(ours.data());
  const T* const b = static_cast<const T*>(torchs.data());
  const i64 count = ours.numel().value();
  for (i64 i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      if (a[i] != b[i]) return cat("element ", i, " is ", a[i], ", torch's ", b[i]);
    } else {
      const double x = static_cast<double>(a[i]);
      const double y = static_cast<double>(b[i]);
      if (!close(x, y, tolerance_of(ours.dtype()))) return cat("element ", i, " is ", x, ", torch's ", y);
    }
  }
  return {};
}

// What is said of a result that differs, where PyTorch's own f64 result decides between the two.
std::string who_is_nearer(const std::vector<Tensor>& exact, std::size_t result, const Tensor& ours, const Tensor& torchs) {
  if (exact.empty() || !exact[result].defined()) return {};
  if (!is_floating(ours.dtype()) || ours.dtype() != torchs.dtype() || ours.shape() != torchs.shape()) return {};
  const Tensor rounded = cast(detach(exact[result]), ours.dtype());
  const bool ours_agrees = difference(ours, rounded).empty();
  const bool torchs_agrees = difference(torchs, rounded).empty();
  if (ours_agrees == torchs_agrees) return "; its f64 result decides nothing";
  return ours_agrees ? "; its f64 result agrees with ours" : "; its f64 result agrees with torch's";
}

std::string gradients_difference(const Call& call, const Results& results) {
  const Call::Gradient torchs = call.gradient();
  std::vector<Tensor> outputs;
  for (const std::size_t i : torchs.outputs) outputs.push_back(results[i]);
  std::vector<Tensor> ours;
  try {
    ours = gradients(outputs, torchs.inputs, {.grad_outputs = torchs.grad_outputs, .allow_unused = true});
  } catch (const Error& e) {
    return cat("backward throws: ", e.what());
  }
  for (std::size_t i = 0; i < ours.size(); ++i) {
    // A gradient that is absent is one of zeros.
    const Tensor a = ours[i].defined() ? ours[i] : zeros_like(detach(torchs.inputs[i]));
    const Tensor b = torchs.expected[i].defined() ? torchs.expected[i] : zeros_like(detach(torchs.inputs[i]));
    if (const std::string found = difference(a, b); !found.empty())
      return cat("gradient ", i, ": ", found, who_is_nearer(torchs.exact, i, a, b));
  }
  return {};
}

Verdict judge_results(const Call& call, const Results& results) {
  const std::vector<Tensor> torchs = call.expected();
  if (results.size() != torchs.size()) {
    return {Verdict::Kind::Differs, cat(results.size(), " results, torch's ", torchs.size())};
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (const std::string found = difference(results[i], torchs[i]); !found.empty()) {
      return {Verdict::Kind::Differs, cat("result ", i, ": ", found, who_is_nearer(call.exact(), i, results[i], torchs[i]))};
    }
  }
  if (!call.has_gradient()) return {};
  const std::string found = gradients_difference(call, results);
  return {found.empty() ? Verdict::Kind::Agrees : Verdict::Kind::Differs, found};
}

Verdict judge_error(const Call& call, const Adapter& adapter) {
  try {
    adapter.call(call);
  } catch (const InternalError& e) {
    return {Verdict::Kind::Differs, cat("a bug: ", e.what())};
  } catch (const Error&) {
    call.require_all_read();
    return {};
  }
  call.require_all_read();
  return {Verdict::Kind::Differs, cat("no error, torch's ", call.message())};
}

Verdict judge_value(const Call& call, const Adapter& adapter) {
  Results results;
  try {
    results = adapter.call(call);
  } catch (const UnsupportedError& e) {
    return {Verdict::Kind::Skipped, e.what()};
  } catch (const Error& e) {
    return {Verdict::Kind::Differs, cat("throws: ", e.what())};
  }
  call.require_all_read();
  return judge_results(call, results);
}

}  // namespace

std::string difference(const Tensor& ours, const Tensor& torchs) {
  if (ours.dtype() != torchs.dtype()) return cat("dtype is ", ours.dtype(), ", torch's ", torchs.dtype());
  if (ours.shape() != torchs.shape()) return cat("shape is ", ours.shape(), ", torch's ", torchs.shape());
  const Tensor a = contiguous(detach(ours));
  const Tensor b = contiguous(torchs);
  return visit_dtype(ours.dtype(), [&](auto zero) { return first_difference<decltype(zero)>(a, b); });
}

Verdict judge(const Call& call, const Adapter& adapter) {
  try {
    return call.is_error() ? judge_error(call, adapter) : judge_value(call, adapter);
  } catch (const NotOurs& e) {
    return {Verdict::Kind::Skipped, e.what};
  }
}

}  // namespace resilin::oracle
