// tests/oracle/call.cpp -- one call of the index: its arguments, and what PyTorch answers.
#include "tests/oracle/call.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "resilin/autograd/history.h"

namespace resilin::oracle {
namespace {

std::vector<Dim> dims_of(const Json& sizes) {
  std::vector<Dim> dims;
  for (const Json& size : sizes.array()) dims.emplace_back(size.integer());
  return dims;
}

std::optional<i64> optional_integer(const Json& value) { return value.is_null() ? std::nullopt : std::optional<i64>(value.integer()); }

}  // namespace

void Argument::refuse(std::string_view asked) const {
  throw NotOurs{cat("an argument is ", value_ == nullptr ? "missing" : write_json(*value_), ", not ", asked)};
}

const Tensor& Argument::tensor() const {
  if (!is_tensor()) refuse("a tensor");
  return tensors_->at(value_->at("tensor").text());
}

Number Argument::number() const {
  if (is_none()) refuse("a number");
  if (value_->is_flag()) return value_->flag();
  if (value_->is_integer()) return value_->integer();
  if (value_->is_number()) return value_->number();
  if (!holds("float")) refuse("a number");
  const std::string& text = value_->at("float").text();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

i64 Argument::integer() const {
  if (!is_integer()) refuse("an integer");
  return value_->integer();
}

bool Argument::flag() const {
  if (is_none() || !value_->is_flag()) refuse("a bool");
  return value_->flag();
}

std::string Argument::text() const {
  if (!is_text()) refuse("a text");
  return value_->text();
}

DType Argument::dtype() const {
  if (!holds("dtype")) refuse("a dtype");
  return parse_dtype(value_->at("dtype").text());
}

Index Argument::index() const {
  if (is_none()) return NewAxis{};
  if (value_->is_integer()) return value_->integer();
  if (holds("ellipsis")) return Ellipsis{};
  if (!holds("slice")) refuse("an integer, a slice, None or Ellipsis");
  const Json::Array& parts = value_->at("slice").array();
  return Slice{optional_integer(parts[0]), optional_integer(parts[1]), optional_integer(parts[2]).value_or(1)};
}

Input Argument::input() const {
  if (is_none()) return {};
  return is_tensor() ? Input(tensor()) : Input(number());
}

std::vector<Argument> Argument::list() const {
  if (!is_list()) refuse("a list");
  std::vector<Argument> items;
  for (const Json& item : value_->array()) items.emplace_back(item, *tensors_);
  return items;
}

std::vector<Tensor> Argument::tensors() const {
  std::vector<Tensor> found;
  for (const Argument& item : list()) found.push_back(item.tensor());
  return found;
}

std::vector<i64> Argument::integers() const {
  if (is_none()) return {};
  if (is_integer()) return {integer()};
  std::vector<i64> found;
  for (const Argument& item : list()) found.push_back(item.integer());
  return found;
}

std::vector<Dim> Argument::dims() const {
  const std::vector<i64> sizes = integers();
  return {sizes.begin(), sizes.end()};
}

Call::Call(const Json& line, const TensorsByName& file) : line_(&line), positions_read_(positional_count()) {
  for (const Json& value : line.at("args").array()) add_tensors(value, file);
  for (const auto& [name, value] : line.at("kwargs").object()) add_tensors(value, file);
  for (const char* const results : {"expected", "exact"}) {
    if (const Json* const found = line.find(results)) add_tensors(*found, file);
  }
  if (!has_gradient()) return;
  add_tensors(line.at("gradient").at("grad_outputs"), file);
  add_tensors(line.at("gradient").at("expected"), file);
  add_tensors(line.at("gradient").at("exact"), file);
  for (const Json& name : line.at("gradient").at("inputs").array()) requires_grad_(tensors_.at(name.text()));
}

// A tensor of the file is shared by calls, so each call has a handle of its own to hang a history on.
void Call::add_tensors(const Json& value, const TensorsByName& file) {
  if (value.is_array()) {
    for (const Json& item : value.array()) add_tensors(item, file);
  }
  if (!value.is_object() || value.find("tensor") == nullptr) return;
  const std::string& name = value.at("tensor").text();
  const Tensor& x = file.at(name);
  const Json* const sizes = value.find("sizes");
  const std::vector<Dim> shape = sizes != nullptr ? dims_of(*sizes) : std::vector<Dim>(x.shape().begin(), x.shape().end());
  const std::vector<Dim> strides =
      sizes != nullptr ? dims_of(value.at("strides")) : std::vector<Dim>(x.strides().begin(), x.strides().end());
  tensors_.emplace(name, Tensor::view(x.storage(), x.dtype(), x.offset(), shape, strides));
}

Argument Call::at(std::size_t position, std::string_view name) const {
  if (position < positional_count()) {
    positions_read_[position] = true;
    return {line_->at("args").array()[position], tensors_};
  }
  names_read_.emplace_back(name);
  const Json* const value = name.empty() ? nullptr : line_->at("kwargs").find(name);
  return value != nullptr ? Argument(*value, tensors_) : Argument();
}

std::vector<i64> Call::integers_from(std::size_t position, std::string_view name) const {
  if (const Argument first = at(position, name); !first.is_integer()) return first.integers();
  std::vector<i64> found;
  for (; position < positional_count(); ++position) found.push_back(at(position).integer());
  return found;
}

void Call::require_all_read() const {
  for (std::size_t i = 0; i < positions_read_.size(); ++i) {
    if (!positions_read_[i]) throw NotOurs{cat("argument ", i, " is not one of ours: ", write_json(line_->at("args").array()[i]))};
  }
  for (const auto& [name, value] : line_->at("kwargs").object()) {
    if (std::find(names_read_.begin(), names_read_.end(), name) != names_read_.end()) continue;
    if (name == "device" || (name == "requires_grad" && value == Json(false))) continue;  // all of ours are on the CPU
    throw NotOurs{cat("argument ", name, " is not one of ours: ", write_json(value))};
  }
}

std::vector<Tensor> Call::expected() const { return Argument(line_->at("expected"), tensors_).tensors(); }

std::vector<Tensor> Call::exact() const {
  const Json* const found = line_->find("exact");
  return found == nullptr || found->is_null() ? std::vector<Tensor>() : Argument(*found, tensors_).tensors();
}

Call::Gradient Call::gradient() const {
  const Json& g = line_->at("gradient");
  Gradient found;
  for (const Json& name : g.at("inputs").array()) found.inputs.push_back(tensors_.at(name.text()));
  for (const Json& position : g.at("outputs").array()) found.outputs.push_back(static_cast<std::size_t>(position.integer()));
  found.grad_outputs = Argument(g.at("grad_outputs"), tensors_).tensors();
  for (const Argument& x : Argument(g.at("expected"), tensors_).list()) found.expected.push_back(x.tensor_or_undefined());
  if (g.at("exact").is_null()) return found;
  for (const Argument& x : Argument(g.at("exact"), tensors_).list()) found.exact.push_back(x.tensor_or_undefined());
  return found;
}

std::string Call::text() const {
  std::string out = cat(op(), "(");
  const auto append = [&](const Json& value) {
    out += value.is_object() && value.find("tensor") != nullptr
               ? cat(tensors_.at(value.at("tensor").text()).dtype(), tensors_.at(value.at("tensor").text()).shape())
               : write_json(value);
    out += ", ";
  };
  for (const Json& value : line_->at("args").array()) append(value);
  for (const auto& [name, value] : line_->at("kwargs").object()) {
    out += cat(name, "=");
    append(value);
  }
  if (out.ends_with(", ")) out.resize(out.size() - 2);
  return out + ")";
}

}  // namespace resilin::oracle
