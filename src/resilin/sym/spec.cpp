// src/resilin/sym/spec.cpp -- declared dynamic sizes: checks, symbols, text.
#include "resilin/sym/spec.h"

#include <algorithm>

namespace resilin {
namespace {

constexpr std::string_view kWords[] = {"static", "int", "scalar", "in", "multiple"};

bool is_name(std::string_view text) {
  const auto is_start = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_part = [&](char c) { return is_start(c) || (c >= '0' && c <= '9') || c == '.'; };
  return !text.empty() && is_start(text[0]) && std::ranges::all_of(text, is_part) && std::ranges::find(kWords, text) == std::end(kWords);
}

void require_name(std::string_view name) {
  if (!is_name(name)) {
    throw ArgumentError(cat("dynamic_spec: not a name: \"", name, "\"; letters, digits, '_' and '.' are needed, and none of the words ",
                            kWords[0], ", ", kWords[1], ", ", kWords[2], ", ", kWords[3], ", ", kWords[4]));
  }
}

/// Allots a symbol to each name and checks that a name always means the same.
class Allotment {
 public:
  Dim add(const std::string& name, Range range, i64 multiple) {
    require_name(name);
    for (std::size_t i = 0; i < result.names.size(); ++i) {
      if (result.names[i] != name) continue;
      if (ranges_[i] != range || multiples_[i] != multiple) {
        throw ArgumentError(cat("dynamic_spec: ", name, " is declared twice: in ", ranges_[i], " multiple ", multiples_[i], " and in ",
                                range, " multiple ", multiple, "; one name has one range"));
      }
      return Dim::symbol('s', static_cast<int>(i));
    }
    const Symbol symbol{'s', static_cast<int>(result.names.size())};
    result.facts.set_range(symbol, range);
    result.facts.set_multiple(symbol, multiple);
    result.names.push_back(name);
    ranges_.push_back(range);
    multiples_.push_back(multiple);
    return Dim::symbol(symbol);
  }

  void add(const InputSpec& input) {
    std::vector<std::optional<Dim>> sizes;
    if (const IntVar* integer = std::get_if<IntVar>(&input.form)) {
      sizes.push_back(add(integer->name, {integer->min, integer->max}, integer->multiple));
    } else if (const std::vector<AxisSpec>* axes = std::get_if<std::vector<AxisSpec>>(&input.form)) {
      for (const AxisSpec& axis : *axes) sizes.push_back(size_of(input, axis));
    } else {
      require_name(std::get<ScalarVar>(input.form).name);
    }
    result.sizes.push_back(std::move(sizes));
  }

  SpecSymbols result;

 private:
  std::optional<Dim> size_of(const InputSpec& input, const AxisSpec& axis) {
    if (const i64* pinned = std::get_if<i64>(&axis)) {
      if (*pinned < 0) throw ArgumentError(cat("dynamic_spec: a negative size: ", *pinned, " in ", input.name, "; sizes are at least 0"));
      return Dim(*pinned);
    }
    const ShapeVar* var = std::get_if<ShapeVar>(&axis);
    if (var == nullptr) return std::nullopt;
    if (var->min < 0) throw ArgumentError(cat("dynamic_spec: a negative size: ", var->name, " from ", var->min, "; sizes are at least 0"));
    return add(var->name, {var->min, var->max}, var->multiple);
  }

  std::vector<Range> ranges_;
  std::vector<i64> multiples_;
};

template <class Var>
std::string text_of(const Var& var) {
  std::string out = var.name;
  if (Var usual; var.min != usual.min || var.max != usual.max) out += cat(" in ", Range{var.min, var.max});
  if (var.multiple != 1) out += cat(" multiple ", var.multiple);
  return out;
}

std::string text_of(const AxisSpec& axis) {
  if (const i64* pinned = std::get_if<i64>(&axis)) return cat(*pinned);
  const ShapeVar* var = std::get_if<ShapeVar>(&axis);
  return var == nullptr ? "static" : text_of(*var);
}

/// Reads word by word; a word is a name or number, a range in brackets, or one of the signs : ; , [ ].
class SpecParser {
 public:
  explicit SpecParser(std::string_view text) : text_(text) {}

  std::vector<InputSpec> run() {
    std::vector<InputSpec> result;
    if (peek().empty()) return result;
    do {
      InputSpec input{std::string(next()), {}};
      expect(":");
      if (peek() == "[") {
        input.form = axes();
      } else if (const std::string_view kind = next(); kind == "int") {
        input.form = var<IntVar>(next());
      } else if (kind == "scalar") {
        input.form = ScalarVar{std::string(next())};
      } else {
        fail("\"[\", \"int\" or \"scalar\" is needed");
      }
      result.push_back(std::move(input));
    } while (take(";"));
    if (!peek().empty()) fail("\";\" or the end is needed");
    return result;
  }

 private:
  [[noreturn]] void fail(std::string_view needed) const {
    throw ArgumentError(cat("dynamic_spec: cannot be read: at position ", at_, " of \"", text_.substr(0, 200), "\"; ", needed));
  }

  std::string_view peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ == text_.size()) return {};
    return text_.substr(at_, std::max<std::size_t>(text_.find_first_of(" :;,[]", at_) - at_, 1));
  }
  std::string_view next() {
    const std::string_view word = peek();
    at_ += word.size();
    return word;
  }
  bool take(std::string_view word) {
    if (peek() != word) return false;
    next();
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) fail(cat("\"", word, "\" is needed"));
  }

  std::vector<AxisSpec> axes() {
    std::vector<AxisSpec> result;
    expect("[");
    if (take("]")) return result;
    do {
      const std::string_view word = next();
      if (word == "static") {
        result.emplace_back(Static{});
      } else if (!word.empty() && (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'))) {
        result.emplace_back(parse_integer(word));
      } else {
        result.emplace_back(var<ShapeVar>(word));
      }
    } while (take(","));
    expect("]");
    return result;
  }

  template <class Var>
  Var var(std::string_view name) {
    Var result;
    result.name = std::string(name);
    if (take("in")) {
      peek();
      const std::size_t end = text_.find(']', at_);
      if (end == std::string_view::npos) fail("a range such as [1, inf] is needed");
      const Range range = parse_range(text_.substr(at_, end + 1 - at_));
      result.min = range.low;
      result.max = range.high;
      at_ = end + 1;
    }
    if (take("multiple")) result.multiple = parse_integer(next());
    return result;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

SpecSymbols DynamicSpec::to_facts() const {
  Allotment allotment;
  for (const InputSpec& input : inputs) allotment.add(input);
  return std::move(allotment.result);
}

std::string DynamicSpec::print() const {
  std::string out;
  for (const InputSpec& input : inputs) {
    if (!out.empty()) out += "; ";
    out += input.name + ": ";
    if (const IntVar* integer = std::get_if<IntVar>(&input.form)) {
      out += "int " + text_of(*integer);
    } else if (const ScalarVar* scalar = std::get_if<ScalarVar>(&input.form)) {
      out += "scalar " + scalar->name;
    } else {
      out += '[';
      const std::vector<AxisSpec>& axes = std::get<std::vector<AxisSpec>>(input.form);
      for (std::size_t i = 0; i < axes.size(); ++i) out += (i == 0 ? "" : ", ") + text_of(axes[i]);
      out += ']';
    }
  }
  return out;
}

DynamicSpec DynamicSpec::parse(std::string_view text) { return dynamic_spec(SpecParser(text).run()); }

DynamicSpec dynamic_spec(std::vector<InputSpec> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    require_name(inputs[i].name);
    for (std::size_t j = 0; j < i; ++j) {
      if (inputs[j].name == inputs[i].name)
        throw ArgumentError(cat("dynamic_spec: an input comes twice: ", inputs[i].name, "; each is described once"));
    }
  }
  DynamicSpec result{std::move(inputs)};
  result.to_facts();  // refuses bad names, ranges and contradictions
  return result;
}

}  // namespace resilin
