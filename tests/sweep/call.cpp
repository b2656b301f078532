// tests/sweep/call.cpp -- makes the inputs of a case: seeded values of the asked kind, in the asked layouts.
#include "tests/sweep/call.h"

#include <limits>

#include "resilin/tensor/generator.h"

namespace resilin::sweep {
namespace {

constexpr int kMaxValues = 64;

// The random words of one element.
struct Dice {
  std::uint32_t value;    // what value it has
  std::uint32_t special;  // whether it is a special one, and which
};

double unit(std::uint32_t word) { return static_cast<double>(word) * 0x1p-32; }

double smallest_denormal(DType dtype) {
  switch (dtype) {
    case DType::F16: return 0x1p-24;
    case DType::BF16: return 0x1p-133;
    case DType::F64: return 0x1p-1074;
    case DType::F8E4M3FN: return 0x1p-9;
    case DType::F8E5M2: return 0x1p-16;
    default: return 0x1p-149;
  }
}

double special_real(DType dtype, Values values, bool is_positive, const Dice& dice) {
  const bool negative = !is_positive && (dice.special >> 8) % 2 != 0;
  switch (values) {
    case Values::NotANumber: return std::numeric_limits<double>::quiet_NaN();
    case Values::Infinite: return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    default: break;
  }
  const double size = smallest_denormal(dtype) * static_cast<double>(dice.value % 5);  // 0 among them
  return negative ? -size : size;
}

double real_value(DType dtype, ir::Fill fill, Values values, const Dice& dice) {
  constexpr double kTies[] = {-2, -1, 0, 0.5, 3};
  if (fill == ir::Fill::Boolean) return dice.value % 2;
  const bool is_positive = fill == ir::Fill::Positive;
  const bool is_special = fill != ir::Fill::Small && dice.special % 16 == 0;
  if (is_special && values >= Values::NotANumber && values <= Values::Tiny) return special_real(dtype, values, is_positive, dice);
  if (values == Values::Ties) return is_positive ? kTies[3 + dice.value % 2] : kTies[dice.value % 5];
  if (is_positive) return 0.125 + unit(dice.value) * 3.875;
  return fill == ir::Fill::Small ? unit(dice.value) * 4 - 2 : unit(dice.value) * 8 - 4;
}

i64 lowest_integer(DType dtype) {
  switch (dtype) {
    case DType::I8: return std::numeric_limits<std::int8_t>::min();
    case DType::I16: return std::numeric_limits<std::int16_t>::min();
    case DType::I32: return std::numeric_limits<std::int32_t>::min();
    case DType::I64: return std::numeric_limits<i64>::min();
    default: return 0;
  }
}
i64 highest_integer(DType dtype) {
  switch (dtype) {
    case DType::Bool: return 1;
    case DType::U8: return std::numeric_limits<std::uint8_t>::max();
    case DType::I8: return std::numeric_limits<std::int8_t>::max();
    case DType::I16: return std::numeric_limits<std::int16_t>::max();
    case DType::I32: return std::numeric_limits<std::int32_t>::max();
    default: return std::numeric_limits<i64>::max();
  }
}

i64 integer_value(DType dtype, ir::Fill fill, Values values, const Dice& dice) {
  if (dtype == DType::Bool || fill == ir::Fill::Boolean) return dice.value % 2;
  const bool is_signed = dtype != DType::U8;
  const i64 word = static_cast<i64>(dice.value);
  const bool is_special = values == Values::Extreme && dice.special % 8 == 0;
  const bool is_negative = is_signed && (dice.special >> 8) % 2 == 0;
  switch (fill) {
    case ir::Fill::Positive: return is_special ? highest_integer(dtype) : values == Values::Ties ? 1 + word % 3 : 1 + word % 50;
    case ir::Fill::Divisor:
      if (is_special) return is_negative ? lowest_integer(dtype) : highest_integer(dtype);
      if (is_negative && values == Values::Extreme) return -1;  // by which the lowest integer wraps
      return is_negative ? -1 - word % 7 : 1 + word % 7;
    case ir::Fill::Small: return is_signed ? word % 7 - 3 : word % 4;
    default: break;
  }
  if (is_special) return (dice.special >> 8) % 2 == 0 ? lowest_integer(dtype) : highest_integer(dtype);
  if (values == Values::Ties) return word % 3;
  return is_signed ? word % 201 - 100 : word % 201;
}

// Values repeat along an axis of stride 0.
void repeat_along(ir::Array& x, int axis) {
  for (i64 i = 0; i < x.numel(); ++i) {
    std::vector<i64> index = ir::unravel(i, x.shape);
    index[static_cast<std::size_t>(axis)] = 0;
    const i64 from = ir::ravel(index, x.shape);
    if (x.is_real()) {
      x.reals[static_cast<std::size_t>(i)] = x.real(from);
    } else {
      x.integers[static_cast<std::size_t>(i)] = x.integer(from);
    }
  }
}

class Maker {
 public:
  explicit Maker(const Case& c) : case_(c) {}

  std::optional<Call> run() {
    const ir::Sample& sample = case_.sample();
    Call call;
    call.op = case_.op;
    const auto dim = [&](Dim d) { return Dim(concrete(d)); };
    const auto number = [](const Number& n) { return n; };
    call.attrs = ir::Attrs(sample.attrs.info().map_values(sample.attrs.data(), dim, number), &sample.attrs.info());
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      std::optional<CallInput> input = make(sample.inputs[i], i, call);
      if (!input) return std::nullopt;
      call.inputs.push_back(std::move(*input));
    }
    if (differs_from_row_major_ == (case_.purpose == Purpose::Layout)) {
      add_absent(call);
      return call;
    }
    return std::nullopt;
  }

 private:
  i64 concrete(Dim d) const {
    return evaluate(d, [&](Symbol s) { return case_.sizes[static_cast<std::size_t>(s.index)]; });
  }

  std::optional<CallInput> make(const ir::SampleInput& sample, std::size_t index, Call& call) {
    if (sample.number) return CallInput{{}, {}, sample.number};
    std::vector<i64> shape;
    for (const Dim d : sample.shape) shape.push_back(concrete(d));
    for (const i64 size : shape) {
      if (size < 0) return std::nullopt;
    }
    ir::Array array = ir::Array::zeros(sample.dtype.value_or(case_.dtype), shape);
    const i64 bound = sample.fill == ir::Fill::Index ? concrete(sample.index_bound) : 0;
    if (sample.fill == ir::Fill::Index && bound <= 0 && array.numel() > 0) call.has_bad_index = true;
    fill(array, sample.fill, bound, hash_mix(case_.seed, index));
    if (array.numel() > 0) spoil(array, sample.fill, index, bound, call);
    std::optional<test::Placement> placement = test::place(shape, case_.layouts[index], case_.seed + index);
    const bool is_row_major = case_.layouts[index] == test::LayoutKind::RowMajor || !placement;
    if (!is_row_major) differs_from_row_major_ = true;
    if (!placement) placement = test::place(shape, test::LayoutKind::RowMajor, 0);
    if (placement->repeated_axis >= 0) repeat_along(array, placement->repeated_axis);
    Tensor tensor = test::to_tensor(array, *placement);
    return CallInput{std::move(array), std::move(tensor), {}};
  }

  void fill(ir::Array& array, ir::Fill kind, i64 bound, std::uint64_t seed) const {
    for (i64 i = 0; i < array.numel(); ++i) {
      const PhiloxWords block = philox4x32(seed, static_cast<std::uint64_t>(i), 0);
      const Dice dice{block.word[0], block.word[1]};
      if (kind == ir::Fill::Index) {
        array.set_integer(i, bound > 0 ? static_cast<i64>(dice.value) % bound : 0);
      } else if (array.is_real()) {
        array.set(i, test::rounded(array.dtype, real_value(array.dtype, kind, case_.values, dice)));
      } else {
        array.set_integer(i, integer_value(array.dtype, kind, case_.values, dice));
      }
    }
  }

  // One element in the middle, at an odd position where there is one, makes the kernel report.
  void spoil(ir::Array& array, ir::Fill fill, std::size_t index, i64 bound, Call& call) const {
    const i64 middle = std::min(array.numel() / 2 | 1, array.numel() - 1);
    if (case_.values == Values::BadIndex && fill == ir::Fill::Index) {
      array.set_integer(middle, bound);
      call.has_bad_index = true;
    }
    if (case_.values == Values::ZeroDivisor && index > 0 && (fill == ir::Fill::Positive || fill == ir::Fill::Divisor))
      array.set_integer(middle, 0);
  }

  // Optional inputs behind those that the sample states are left out.
  void add_absent(Call& call) const {
    const ir::OpDef& op = *case_.op;
    while (call.inputs.size() < op.inputs.size() && op.inputs[call.inputs.size()].kind == ir::InputKind::Optional)
      call.inputs.emplace_back();
  }

  const Case& case_;
  bool differs_from_row_major_ = false;
};

}  // namespace

std::vector<Input> Call::arguments() const {
  std::vector<Input> out;
  for (const CallInput& input : inputs) {
    if (input.number) {
      out.emplace_back(*input.number);
    } else {
      out.emplace_back(input.tensor);
    }
  }
  return out;
}

std::vector<const Tensor*> Call::tensors() const {
  std::vector<const Tensor*> out;
  for (const CallInput& input : inputs) {
    if (input.tensor.defined()) out.push_back(&input.tensor);
  }
  return out;
}

std::vector<i64> Call::parameters() const {
  i64 dims[kMaxValues];
  const int count = attrs.info().read_dims(attrs.data(), dims, kMaxValues);
  return {dims, dims + count};
}

std::vector<Number> Call::numbers() const {
  std::vector<Number> out;
  for (const CallInput& input : inputs) {
    if (input.number) out.push_back(*input.number);
  }
  Number values[kMaxValues];
  const int count = attrs.info().read_numbers(attrs.data(), values, kMaxValues);
  out.insert(out.end(), values, values + count);
  return out;
}

std::optional<Call> make_call(const Case& c) { return Maker(c).run(); }

}  // namespace resilin::sweep
