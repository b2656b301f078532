// tests/sweep/tolerance.cpp -- the table of tolerances and the comparison with the reference.
#include "tests/sweep/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace resilin::sweep {
namespace {

struct Precision {
  double relative, epsilon, denormal, highest;  // epsilon: of the compute dtype
};
Precision precision_of(DType dtype) {
  switch (dtype) {
    case DType::F64: return {1e-13, 0x1p-52, 0x1p-1074, std::numeric_limits<double>::max()};
    case DType::F16: return {0x1p-10, 0x1p-23, 0x1p-24, 65504};
    case DType::BF16: return {0x1p-7, 0x1p-23, 0x1p-133, 0x1.fep127};
    case DType::F8E4M3FN: return {0x1p-3, 0x1p-23, 0x1p-9, 448};
    case DType::F8E5M2: return {0x1p-2, 0x1p-23, 0x1p-16, 57344};
    default: return {2e-6, 0x1p-23, 0x1p-149, std::numeric_limits<float>::max()};
  }
}

bool is_low_precision(DType dtype) { return size_bytes(dtype) <= 2; }

i64 largest_count(const std::vector<std::optional<ir::Array>>& inputs) {
  i64 count = 1;
  for (const std::optional<ir::Array>& input : inputs) {
    if (input) count = std::max(count, input->numel());
  }
  return count;
}

double largest_value(const ir::Array& x, double so_far) {
  for (i64 i = 0; i < x.numel(); ++i) {
    const double size = std::abs(x.real(i));
    if (std::isfinite(size)) so_far = std::max(so_far, size);
  }
  return so_far;
}

bool copies(const ir::OpDef& op) {
  const ir::Update* update = std::get_if<ir::Update>(&op.lower);
  return std::holds_alternative<ir::View>(op.lower) || (update != nullptr && update->combine == nullptr);
}

class Comparison {
 public:
  Comparison(const Call& call, const Expected& expected, int output)
      : call_(call), expected_(expected), output_(output), want_(expected.outputs[static_cast<std::size_t>(output)]) {
    precision_ = precision_of(want_.dtype);
    double largest = largest_value(want_, 0);
    bool has_operand = false;
    for (std::size_t i = 0; i < expected.inputs.size(); ++i) has_operand = has_operand || (expected.inputs[i] && is_operand(i));
    if (!has_operand) largest = std::max(largest, 1.0);  // what is drawn at random is of that order
    for (std::size_t i = 0; i < expected.inputs.size(); ++i) {
      if (expected.inputs[i] && is_operand(i)) largest = largest_value(*expected.inputs[i], largest);
    }
    const ir::Lowering& form = call.op->lower;
    if (copies(*call.op)) {
      precision_.relative = 0;
      precision_.denormal = 0;
    } else if (std::holds_alternative<ir::Pointwise>(form) || std::holds_alternative<ir::Extern>(form)) {
      absolute_ = 2 * precision_.epsilon * largest;
    } else if (std::holds_alternative<ir::Update>(form)) {
      absolute_ = 4 * std::max(precision_.epsilon, is_low_precision(want_.dtype) ? precision_.relative : 0) * largest;
    } else {
      const double count = static_cast<double>(std::max<i64>(1, largest_count(expected.inputs) / std::max<i64>(1, rows())));
      absolute_ = 4 * precision_.epsilon * std::sqrt(count) * std::max(largest, largest * largest);
    }
  }

  std::optional<std::string> run(const Tensor& got) {
    if (got.dtype() != want_.dtype) return cat("output ", output_, " is ", got.dtype(), "; inferred was ", want_.dtype);
    const ir::Array values = test::to_array(got);
    if (values.shape != want_.shape) return cat("output ", output_, " has shape ", values.shape, "; inferred was ", want_.shape);
    i64 count = 0;
    i64 first = -1;
    for (i64 i = 0; i < want_.numel(); ++i) {
      if (is_close(values, i)) continue;
      if (count++ == 0) first = i;
    }
    if (count == 0) return std::nullopt;
    return cat("output ", output_, " element ", ir::unravel(first, want_.shape), " of ", want_.dtype, want_.shape, " is ",
               text(values, first), "; the reference is ", text(want_, first), ", ", count, " of ", want_.numel(), " differ");
  }

 private:
  // Indices, seeds and offsets say nothing about the size of results.
  bool is_operand(std::size_t input) const {
    const auto& inputs = call_.op->inputs;
    return expected_.inputs[input]->is_real() || inputs[std::min(input, inputs.size() - 1)].promoted;
  }
  // Only a Reduce says how many elements each of its outputs adds up.
  i64 rows() const { return std::holds_alternative<ir::Reduce>(call_.op->lower) ? want_.numel() : 1; }

  static std::string text(const ir::Array& x, i64 at) { return x.is_real() ? cat(x.real(at)) : cat(x.integer(at)); }

  bool is_close(const ir::Array& got, i64 at) {
    if (!want_.is_real()) return got.integer(at) == want_.integer(at);
    return is_close(got.real(at), want_.real(at)) || (is_pointwise() && lies_between_perturbed(got.real(at), at));
  }

  bool is_close(double got, double exact) const {
    const double want = test::rounded(want_.dtype, exact);
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
    if (got == want) return true;
    const double allowed = precision_.relative * std::abs(exact) + absolute_ + precision_.denormal;
    const double limit = precision_.highest;  // near it rounding decides between the highest number and infinity
    if (std::isinf(got) || std::isinf(want))
      return std::isfinite(exact) && std::abs(exact) + allowed > limit && (got > 0) == (exact > 0) && std::abs(got) >= limit / 2;
    return std::abs(got - exact) <= allowed || std::abs(got - want) <= allowed;
  }

  bool is_pointwise() const { return std::holds_alternative<ir::Pointwise>(call_.op->lower); }

  bool lies_between_perturbed(double got, i64 at) {
    if (!std::isfinite(got)) return false;
    if (perturbed_.empty()) perturb();
    double low = want_.real(at);
    double high = low;
    for (const ir::Array& output : perturbed_) {
      low = std::min(low, output.real(at));
      high = std::max(high, output.real(at));
    }
    const double allowed = precision_.relative * std::max(std::abs(low), std::abs(high)) + absolute_ + precision_.denormal;
    return got >= low - allowed && got <= high + allowed;
  }

  void perturb() {
    constexpr int kDirections[][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, -1}, {-1, 1}, {1, 1}, {-1, -1}};
    for (const int(&directions)[2] : kDirections) {
      perturbed_.push_back(
          perturbed_outputs(call_, expected_, directions, want_.dtype == DType::F64 ? 51 : 22)[static_cast<std::size_t>(output_)]);
    }
  }

  const Call& call_;
  const Expected& expected_;
  int output_;
  const ir::Array& want_;
  Precision precision_;
  double absolute_ = 0;
  std::vector<ir::Array> perturbed_;
};

}  // namespace

std::optional<std::string> value_difference(const Call& call, const Expected& expected, int output, const Tensor& got) {
  return Comparison(call, expected, output).run(got);
}

}  // namespace resilin::sweep
