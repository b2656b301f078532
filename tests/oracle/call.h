// tests/oracle/call.h -- one call of the index that make_vectors.py writes: its arguments by position and name, and what PyTorch answers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "resilin/base/json.h"
#include "resilin/dispatch/apply.h"
#include "resilin/tensor/index.h"

namespace resilin::oracle {

/// Thrown where a call asks for something that the C++ functions cannot say: the call is skipped, and known.txt has to say why.
struct NotOurs {
  std::string what;
};

using TensorsByName = std::map<std::string, Tensor, std::less<>>;

/// One argument. A missing one is like None: `is_none` holds.
class Argument {
 public:
  Argument() = default;
  Argument(const Json& value, const TensorsByName& tensors) : value_(&value), tensors_(&tensors) {}

  bool is_none() const { return value_ == nullptr || value_->is_null(); }
  bool is_tensor() const { return holds("tensor"); }
  bool is_list() const { return !is_none() && value_->is_array(); }
  bool is_integer() const { return !is_none() && value_->is_integer(); }
  bool is_text() const { return !is_none() && value_->is_text(); }

  /// The argument as a type; NotOurs where it is of another one.
  const Tensor& tensor() const;
  Tensor tensor_or_undefined() const { return is_none() ? Tensor() : tensor(); }
  Number number() const;
  i64 integer() const;
  double real() const { return number().as_double(); }
  bool flag() const;
  std::string text() const;
  DType dtype() const;
  Index index() const;
  /// A tensor, a number or nothing.
  Input input() const;
  std::vector<Argument> list() const;
  std::vector<Tensor> tensors() const;
  std::vector<i64> integers() const;
  std::vector<Dim> dims() const;

 private:
  bool holds(std::string_view key) const { return !is_none() && value_->is_object() && value_->find(key) != nullptr; }
  [[noreturn]] void refuse(std::string_view asked) const;

  const Json* value_ = nullptr;
  const TensorsByName* tensors_ = nullptr;
};

/// A line of the index with its tensors; those that want a gradient are leaves.
class Call {
 public:
  Call(const Json& line, const TensorsByName& file);

  std::size_t positional_count() const { return line_->at("args").array().size(); }
  /// The argument at a position or of a name; counts as read.
  Argument at(std::size_t position, std::string_view name = {}) const;
  /// All positional arguments from one on; a single list among them stands for its items.
  std::vector<i64> integers_from(std::size_t position, std::string_view name = {}) const;
  /// NotOurs where an argument was given that no `at` asked for.
  void require_all_read() const;

  std::string_view op() const { return line_->at("op").text(); }
  std::string_view dtype() const { return line_->at("dtype").text(); }
  bool is_error() const { return line_->at("kind").text() == "error"; }
  std::string_view message() const { return line_->at("message").text(); }
  std::vector<Tensor> expected() const;
  /// PyTorch's results in f64 for the same elements; empty where the index has none.
  std::vector<Tensor> exact() const;
  bool has_gradient() const { return line_->find("gradient") != nullptr && !line_->at("gradient").is_null(); }

  struct Gradient {
    std::vector<Tensor> inputs;
    std::vector<std::size_t> outputs;
    std::vector<Tensor> grad_outputs;
    std::vector<Tensor> expected;  // undefined where PyTorch has none
    std::vector<Tensor> exact;     // PyTorch's in f64 for the same elements; empty where the index has none
  };
  Gradient gradient() const;
  /// The line's arguments, for messages.
  std::string text() const;

 private:
  void add_tensors(const Json& value, const TensorsByName& file);

  const Json* line_;
  TensorsByName tensors_;
  mutable std::vector<bool> positions_read_;
  mutable std::vector<std::string> names_read_;
};

}  // namespace resilin::oracle
