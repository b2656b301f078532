// tests/sweep/case.cpp -- derives the cases of an op: sizes, dtypes, layouts and values, each varied on its own.
#include "tests/sweep/case.h"

#include <algorithm>

#include "resilin/base/hash.h"
#include "resilin/base/reflect.h"
#include "resilin/codegen/lower.h"

namespace resilin::sweep {
namespace {

using test::LayoutKind;

constexpr i64 kNastySizes[] = {0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 131};
constexpr i64 kFewSizes[] = {1, 9, 65, 131};
constexpr std::size_t kFewDTypes = 3;
constexpr DType kComputed[] = {DType::F32, DType::I64, DType::BF16, DType::F64, DType::I32, DType::F16, DType::U8, DType::Bool};
constexpr DType kStoredOnly[] = {DType::I8, DType::I16, DType::F8E4M3FN, DType::F8E5M2};
constexpr LayoutKind kLayouts[] = {LayoutKind::Transposed, LayoutKind::Strided, LayoutKind::Padded, LayoutKind::Offset,
                                   LayoutKind::Broadcast};
constexpr Values kRealValues[] = {Values::Ties, Values::NotANumber, Values::Infinite, Values::Tiny};
constexpr i64 kLongSize = 40000;
constexpr i64 kParallelElements = 110000;
static_assert(kLongSize > kRowElements);

// An op that promotes integers to floats takes them all the same.
bool takes(const ir::OpDef& op, DType dtype) {
  return (op.dtypes & ir::bit(dtype)) != 0 || (op.promote == ir::Promotion::Floating && !is_floating(dtype) && !is_complex(dtype));
}

bool depends_on_dtype(const ir::Sample& sample) {
  return std::any_of(sample.inputs.begin(), sample.inputs.end(),
                     [](const ir::SampleInput& input) { return !input.dtype && !input.number; });
}

i64 size_at(Dim d, const std::vector<i64>& sizes) {
  return evaluate(d, [&](Symbol s) { return sizes[static_cast<std::size_t>(s.index)]; });
}

class Derivation {
 public:
  Derivation(const ir::OpDef& op, Extent extent, std::uint64_t seed) : op_(op), extent_(extent), seed_(seed) {
    samples_ = std::make_shared<const std::vector<ir::Sample>>(op.samples());
  }

  std::vector<Case> run() {
    for (const DType dtype : kComputed) {
      if (takes(op_, dtype)) dtypes_.push_back(dtype);
    }
    if (extent_ == Extent::Few && dtypes_.size() > kFewDTypes) dtypes_.resize(kFewDTypes);
    if (op_.dtypes == ir::kAnyDType && extent_ == Extent::Full)
      dtypes_.insert(dtypes_.end(), std::begin(kStoredOnly), std::end(kStoredOnly));
    for (std::size_t s = 0; s < samples_->size(); ++s) {
      for (std::size_t t = 0; t < dtypes_.size(); ++t) {
        if (t > 0 && !depends_on_dtype((*samples_)[s])) break;
        start(static_cast<int>(s), t);
        derive();
      }
    }
    return std::move(cases_);
  }

 private:
  const ir::Sample& sample() const { return base_.sample(); }

  void start(int sample, std::size_t dtype) {
    base_ = {.op = &op_, .samples = samples_, .sample_index = sample, .dtype = dtypes_[dtype], .is_primary = dtype == 0};
    base_.sizes = base_.sample().sizes;
    base_.layouts.assign(base_.sample().inputs.size(), LayoutKind::RowMajor);
  }

  void derive() {
    add(base_);
    if (extent_ == Extent::Typical) return;
    add_sizes();
    add_failing();
    if (extent_ == Extent::Few) return add_few_variants();
    add_layouts();
    add_values();
    if (base_.is_primary) add_long_and_parallel();
  }

  // Every variant for the first sample of the primary dtype; the others share the variants out among themselves.
  bool is_thinned_out(std::uint64_t variant, std::uint64_t share) const {
    if (base_.is_primary && base_.sample_index == 0) return false;
    const std::uint64_t turn = static_cast<std::uint64_t>(base_.sample_index) * 5 + static_cast<std::uint64_t>(base_.dtype) * 3;
    return (variant + turn) % share != 0;
  }

  void add(Case c) {
    c.seed = hash_mix(hash_mix(seed_, cases_.size()), static_cast<std::uint64_t>(c.dtype));
    cases_.push_back(std::move(c));
  }

  void add_sizes() {
    Case c = base_;
    c.purpose = Purpose::Sizes;
    const std::size_t count = c.sizes.size();
    for (std::size_t k = 0; k < count; ++k) {
      const std::span<const i64> sizes = extent_ == Extent::Few ? std::span<const i64>(kFewSizes) : std::span<const i64>(kNastySizes);
      for (std::size_t v = 0; v < sizes.size(); ++v) {
        if (extent_ == Extent::Full && is_thinned_out(v + k, base_.is_primary ? 2 : 4)) continue;
        c.sizes = sample().sizes;
        c.sizes[k] = sizes[v];
        add(c);
      }
    }
    if (extent_ == Extent::Few || count == 0) return;
    for (const i64 all : {0, 1}) {
      c.sizes.assign(count, all);
      add(c);
    }
  }

  void add_few_variants() {
    Case c = base_;
    c.purpose = Purpose::Layout;
    for (const LayoutKind layout : {LayoutKind::Transposed, LayoutKind::Strided}) {
      c.layouts.assign(c.layouts.size(), layout);
      add(c);
    }
    c = base_;
    c.purpose = Purpose::Values;
    for (const Values values : {Values::NotANumber, Values::Infinite, Values::Tiny, Values::Ties}) {
      c.values = values;
      if (is_floating(c.dtype)) add(c);
    }
    c.purpose = Purpose::Layout;  // what asks for special values alone must see them in other layouts too
    c.values = Values::Infinite;
    c.layouts.assign(c.layouts.size(), LayoutKind::Strided);
    if (is_floating(c.dtype)) add(c);
  }

  bool has_elements(std::size_t input) const { return !sample().inputs[input].number; }

  void add_layouts() {
    Case c = base_;
    c.purpose = Purpose::Layout;
    const std::size_t count = c.layouts.size();
    for (std::size_t l = 0; l < std::size(kLayouts); ++l) {
      const LayoutKind layout = kLayouts[l];
      for (std::size_t i = 0; i < count; ++i) {
        if (!has_elements(i) || is_thinned_out(l + i, 3)) continue;
        c.layouts.assign(count, LayoutKind::RowMajor);
        c.layouts[i] = layout;
        add(c);
      }
      if (count < 2 || is_thinned_out(l + count, 3)) continue;
      c.layouts.assign(count, layout);
      add(c);
    }
  }

  void add_values() {
    Case c = base_;
    c.purpose = Purpose::Values;
    if (!is_floating(c.dtype)) {
      c.values = Values::Extreme;
      add(c);
      c.values = Values::Ties;
      add(c);
      return;
    }
    for (const Values values : kRealValues) {
      if (is_thinned_out(static_cast<std::uint64_t>(values), 2)) continue;
      c.values = values;
      add(c);
    }
  }

  // Calls whose kernels must report: an index beyond its axis, a divisor 0.
  void add_failing() {
    Case c = base_;
    c.purpose = Purpose::Values;
    const std::vector<ir::SampleInput>& inputs = sample().inputs;
    const auto has_fill = [&](std::size_t from, ir::Fill fill) {
      return std::any_of(inputs.begin() + static_cast<std::ptrdiff_t>(std::min(from, inputs.size())), inputs.end(),
                         [&](const ir::SampleInput& input) { return !input.number && input.fill == fill; });
    };
    c.values = Values::BadIndex;
    if (has_fill(0, ir::Fill::Index)) add(c);
    c.values = Values::ZeroDivisor;
    if (!is_floating(c.dtype) && c.dtype != DType::Bool && std::holds_alternative<ir::Pointwise>(op_.lower) &&
        (has_fill(1, ir::Fill::Positive) || has_fill(1, ir::Fill::Divisor)))
      add(c);
  }

  i64 elements(const std::vector<i64>& sizes) const {
    i64 largest = 0;
    for (const ir::SampleInput& input : sample().inputs) {
      i64 count = 1;
      for (const Dim d : input.shape) count *= size_at(d, sizes);
      largest = std::max(largest, count);
    }
    return largest;
  }

  // The symbol behind the first reduced axis of a Reduce or the axis of a Scan; of another form the last symbol.
  int long_symbol() const {
    if (sample().sizes.empty() || sample().inputs.empty()) return -1;
    const Shape& shape = sample().inputs[0].shape;
    i64 axis = -1;
    if (const ir::Reduce* reduce = std::get_if<ir::Reduce>(&op_.lower)) {
      const SmallVector<i64, 5> axes = reduce->axes(sample().attrs.ref(), static_cast<i64>(shape.size()));
      if (!axes.empty()) axis = axes[0];
    }
    if (const ir::Scan* scan = std::get_if<ir::Scan>(&op_.lower)) axis = scan->axis(sample().attrs.ref(), static_cast<i64>(shape.size()));
    if (axis < 0) return static_cast<int>(sample().sizes.size()) - 1;
    const Dim size = shape[static_cast<std::size_t>(axis)];
    return size.is_symbol() ? size.as_symbol().index : -1;
  }

  void add_long_and_parallel() {
    const int symbol = long_symbol();
    if (symbol < 0) return;
    const std::size_t k = static_cast<std::size_t>(symbol);
    const bool is_row = std::holds_alternative<ir::Reduce>(op_.lower) || std::holds_alternative<ir::Scan>(op_.lower) ||
                        std::holds_alternative<ir::Composite>(op_.lower);
    Case c = base_;
    c.purpose = Purpose::LongRows;
    for (i64& size : c.sizes) size = std::min<i64>(size, 2);
    c.sizes[k] = kLongSize;
    if (is_row && (c.sample_index < 3 || std::holds_alternative<ir::Reduce>(op_.lower))) add(c);
    if (c.sample_index > 0) return;
    c.purpose = Purpose::Parallel;
    c.sizes = sample().sizes;
    const std::size_t last = is_row ? (k == 0 ? c.sizes.size() - 1 : 0) : k;
    const i64 before = std::max<i64>(elements(c.sizes), 1);
    c.sizes[last] = c.sizes[last] * kParallelElements / before + 1;
    add(c);
  }

  const ir::OpDef& op_;
  Extent extent_;
  std::uint64_t seed_;
  std::shared_ptr<const std::vector<ir::Sample>> samples_;
  std::vector<DType> dtypes_;
  Case base_;
  std::vector<Case> cases_;
};

}  // namespace

std::string describe(const Case& c) {
  std::string layouts;
  for (const test::LayoutKind layout : c.layouts) layouts += cat(layouts.empty() ? "" : ", ", enum_name(layout));
  return cat(c.op->name, " #", c.sample_index, " ", c.dtype, " sizes ", c.sizes, " layouts [", layouts, "] values ", enum_name(c.values),
             " (", enum_name(c.purpose), ", seed ", c.seed, ")");
}

std::vector<Case> cases_of(const ir::OpDef& op, Extent extent, std::uint64_t seed) {
  if (op.samples == nullptr) return {};
  return Derivation(op, extent, seed).run();
}

}  // namespace resilin::sweep
