// src/resilin/tensor/print.cpp -- PyTorch's text of a tensor: number formats, summary, line breaks and suffixes.
#include "resilin/tensor/print.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ostream>
#include <vector>

namespace resilin {
namespace {

/// A number as the formats see it: floats in `real`, everything else in `integer`.
struct Number {
  double real = 0;
  i64 integer = 0;
};

template <class T>
T read(const char* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

Number read_number(const char* address, DType dtype) {
  return visit_dtype(dtype, [&](auto zero) -> Number {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      return {.integer = static_cast<i64>(read<T>(address))};
    } else if constexpr (std::is_floating_point_v<T>) {
      return {.real = read<T>(address)};
    } else {
      return {.real = static_cast<float>(read<T>(address))};
    }
  });
}

/// Python's "{:.<precision><style>}" of a double.
std::string format_double(double value, i64 precision, char style) {
  if (std::isnan(value)) return "nan";
  const char format[] = {'%', '.', '*', style, '\0'};
  char text[512];  // the longest double has 309 digits before the point
  const int length = std::snprintf(text, sizeof text, format, static_cast<int>(precision), value);
  return std::string(text, static_cast<std::size_t>(std::min<int>(length, sizeof text - 1)));
}

/// Decides for the numbers of a whole tensor how they look, so that they stand in columns of one width.
class NumberFormat {
 public:
  NumberFormat(const std::vector<Number>& numbers, DType dtype, i64 precision) : dtype_(dtype), precision_(precision) {
    if (is_floating(dtype)) {
      choose_float_style(numbers);
    } else {
      for (const Number& n : numbers) widen(bare(n).size());
    }
  }
  std::size_t width() const { return width_; }
  std::string operator()(const Number& number) const {
    const std::string text = bare(number);
    return std::string(width_ - std::min(width_, text.size()), ' ') + text;
  }

 private:
  enum class Style { Whole, Fixed, Scientific };

  void widen(std::size_t width) { width_ = std::max(width_, width); }

  /// Zeros and what is not finite have no say, neither in the style nor in the width.
  void choose_float_style(const std::vector<Number>& numbers) {
    std::vector<Number> counted;
    std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(counted),
                 [](const Number& n) { return std::isfinite(n.real) && n.real != 0; });
    if (counted.empty()) return;
    const auto smaller = [](const Number& a, const Number& b) { return std::fabs(a.real) < std::fabs(b.real); };
    const double least = std::fabs(std::min_element(counted.begin(), counted.end(), smaller)->real);
    const double most = std::fabs(std::max_element(counted.begin(), counted.end(), smaller)->real);
    const bool whole = std::all_of(counted.begin(), counted.end(), [](const Number& n) { return n.real == std::ceil(n.real); });
    const bool spread = most / least > 1000 || most > 1e8 || (!whole && least < 1e-4);
    style_ = spread ? Style::Scientific : whole ? Style::Whole : Style::Fixed;
    for (const Number& n : counted) widen(bare(n).size());
  }

  std::string bare(const Number& number) const {
    if (dtype_ == DType::Bool) return number.integer != 0 ? "True" : "False";
    if (!is_floating(dtype_)) return cat(number.integer);
    if (style_ == Style::Scientific) return format_double(number.real, precision_, 'e');
    if (style_ == Style::Fixed) return format_double(number.real, precision_, 'f');
    return format_double(number.real, 0, 'f') + (std::isfinite(number.real) ? "." : "");
  }

  DType dtype_;
  i64 precision_;
  Style style_ = Style::Whole;
  std::size_t width_ = 1;
};

/// The brackets of one tensor. A complex element is two numbers, each part with its own format.
class Printer {
 public:
  Printer(const Tensor& x, const PrintOptions& options)
      : x_(x),
        options_(options),
        summarize_(x.numel().value() > options.threshold),
        part_dtype_(x.dtype() == DType::C64    ? DType::F32
                    : x.dtype() == DType::C128 ? DType::F64
                                               : x.dtype()) {
    const int parts = is_complex(x.dtype()) ? 2 : 1;
    for (int part = 0; part < parts; ++part) {
      std::vector<Number> numbers;
      collect(0, 0, part, numbers);
      formats_.emplace_back(numbers, part_dtype_, options.precision);
    }
  }

  std::string contents(i64 indent) const { return x_.ndim() == 0 ? element(0) : axis_text(0, 0, indent); }

 private:
  i64 size(i64 axis) const { return x_.shape()[static_cast<std::size_t>(axis)].value(); }
  i64 stride(i64 axis) const { return x_.strides()[static_cast<std::size_t>(axis)].value(); }
  bool has_dots(i64 axis) const { return summarize_ && size(axis) > 2 * options_.edge_items; }

  /// Calls f for each position of the axis that is shown, and dots once for those that are not.
  template <class F, class Dots>
  void each_shown(i64 axis, F f, Dots dots) const {
    const i64 edge = has_dots(axis) ? options_.edge_items : size(axis);
    for (i64 i = 0; i < edge; ++i) f(i);
    if (!has_dots(axis)) return;
    dots();
    for (i64 i = size(axis) - edge; i < size(axis); ++i) f(i);
  }

  Number number(i64 offset, int part) const {
    const char* const first = static_cast<const char*>(x_.data());
    return read_number(first + offset * size_bytes(x_.dtype()) + part * size_bytes(part_dtype_), part_dtype_);
  }

  void collect(i64 axis, i64 offset, int part, std::vector<Number>& out) const {
    if (axis == x_.ndim()) {
      out.push_back(number(offset, part));
      return;
    }
    each_shown(
        axis, [&](i64 i) { collect(axis + 1, offset + i * stride(axis), part, out); }, [] {});
  }

  std::string element(i64 offset) const {
    const std::string real = formats_[0](number(offset, 0));
    if (formats_.size() == 1) return real;
    std::string imaginary = formats_[1](number(offset, 1)) + "j";
    imaginary.erase(0, imaginary.find_first_not_of(' '));
    return real + (imaginary[0] == '-' ? "" : "+") + imaginary;
  }

  std::string axis_text(i64 axis, i64 offset, i64 indent) const {
    const bool innermost = axis + 1 == x_.ndim();
    std::vector<std::string> items;
    each_shown(
        axis,
        [&](i64 i) {
          const i64 at = offset + i * stride(axis);
          items.push_back(innermost ? element(at) : axis_text(axis + 1, at, indent + 1));
        },
        [&] { items.emplace_back(innermost ? " ..." : "..."); });
    return innermost ? join_in_lines(items, indent) : join_slices(items, x_.ndim() - axis, indent);
  }

  /// Slices of n axes are n - 1 line ends apart.
  static std::string join_slices(const std::vector<std::string>& items, i64 axes, i64 indent) {
    const std::string separator =
        "," + std::string(static_cast<std::size_t>(axes - 1), '\n') + std::string(static_cast<std::size_t>(indent + 1), ' ');
    std::string out = "[";
    for (std::size_t i = 0; i < items.size(); ++i) out += (i == 0 ? "" : separator) + items[i];
    return out + "]";
  }

  std::string join_in_lines(const std::vector<std::string>& items, i64 indent) const {
    std::size_t element_width = formats_[0].width() + 2;
    if (formats_.size() == 2) element_width += formats_[1].width() + 1;
    const i64 fit = (options_.line_width - indent) / static_cast<i64>(element_width);
    const std::size_t per_line = static_cast<std::size_t>(std::max<i64>(1, fit));
    std::string out = "[";
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += i % per_line == 0 ? ",\n" + std::string(static_cast<std::size_t>(indent + 1), ' ') : ", ";
      out += items[i];
    }
    return out + "]";
  }

  const Tensor& x_;
  const PrintOptions& options_;
  bool summarize_;
  DType part_dtype_;
  std::vector<NumberFormat> formats_;
};

/// Python's text of a tuple of sizes.
std::string tuple_text(const Shape& shape) {
  std::string out = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) out += cat(i == 0 ? "" : ", ", shape[i]);
  return out + (shape.size() == 1 ? ",)" : ")");
}

/// Appends what follows the contents, on a new line where the old one is full. PyTorch counts two columns more for what precedes the first suffix.
class Suffixes {
 public:
  Suffixes(std::string& out, i64 indent, i64 line_width) : out_(out), indent_(indent), line_width_(line_width) {
    const std::size_t line_end = out.rfind('\n');
    column_ = static_cast<i64>(out.size()) + 1 - (line_end == std::string::npos ? -1 : static_cast<i64>(line_end));
  }
  void add(const std::string& suffix) {
    const i64 length = static_cast<i64>(suffix.size());
    const bool breaks = column_ + length + 2 > line_width_;
    out_ += breaks ? ",\n" + std::string(static_cast<std::size_t>(indent_), ' ') : ", ";
    out_ += suffix;
    column_ = breaks ? indent_ + length : column_ + length + 2;
  }

 private:
  std::string& out_;
  i64 indent_;
  i64 line_width_;
  i64 column_;
};

bool is_default(DType dtype) { return dtype == DType::F32 || dtype == DType::C64 || dtype == DType::I64 || dtype == DType::Bool; }

}  // namespace

std::string to_string(const Tensor& x, const PrintOptions& options) {
  const std::string prefix = "tensor(";
  const i64 indent = static_cast<i64>(prefix.size());
  const bool has_elements = !x.is_traced() && !(x.numel() == 0);
  std::string out = prefix + (x.is_traced() ? "..." : has_elements ? Printer(x, options).contents(indent) : "[]");
  Suffixes suffixes(out, indent, options.line_width);
  if (x.is_traced() || (!has_elements && x.ndim() != 1)) suffixes.add("size=" + tuple_text(x.shape()));
  const bool shows_dtype = has_elements ? !is_default(x.dtype()) : x.dtype() != DType::F32;
  if (shows_dtype) suffixes.add(cat("dtype=torch.", torch_name(x.dtype())));
  return out + ")";
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }

}  // namespace resilin
