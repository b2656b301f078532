// src/resilin/ir/op.h -- OpDef: everything known about an op, in one literal value.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "resilin/ir/attrs.h"
#include "resilin/ir/infer.h"
#include "resilin/ir/lowering.h"
#include "resilin/ir/reference.h"
#include "resilin/ir/type.h"
#include "resilin/tensor/tensor.h"

namespace resilin::ir {

enum class InputKind : std::uint8_t { Required, Optional, List };

/// One input of an op: its name, its shape in words, whether it may be absent or is a list (at most one list, the last input).
struct InputDef {
  std::string_view name;
  std::string_view shape = {};
  InputKind kind = InputKind::Required;
  bool promoted = true;  // takes part in the promotion of dtypes
};

/// A constexpr list of at most N items.
template <class T, std::size_t N>
struct FixedList {
  std::array<T, N> items{};
  std::size_t count = 0;
  constexpr FixedList() = default;
  constexpr FixedList(std::initializer_list<T> list) {
    for (const T& item : list) items[count++] = item;
  }
  constexpr const T* begin() const { return items.data(); }
  constexpr const T* end() const { return items.data() + count; }
  constexpr std::size_t size() const { return count; }
  constexpr const T& operator[](std::size_t i) const { return items[i]; }
};

/// How apply brings the inputs to common dtypes before infer sees them.
enum class Promotion : std::uint8_t {
  None,        // inputs stay as they are
  Arithmetic,  // PyTorch's promotion of all inputs (numbers and 0-d tensors count by category only)
  Floating,    // as Arithmetic, then integers and Bool become F32
  First        // every other tensor of a floating, integral or Bool dtype must equal the first one's; numbers take it
};

/// A set of dtypes as bits; which dtypes an op accepts after promotion (of its promoted inputs, or of the first one for None).
using DTypeSet = std::uint32_t;
constexpr DTypeSet bit(DType t) { return DTypeSet{1} << static_cast<int>(t); }
inline constexpr DTypeSet kFloats = bit(DType::F16) | bit(DType::BF16) | bit(DType::F32) | bit(DType::F64);
inline constexpr DTypeSet kInts = bit(DType::U8) | bit(DType::I32) | bit(DType::I64);
inline constexpr DTypeSet kBool = bit(DType::Bool);
inline constexpr DTypeSet kArithmeticDTypes = kFloats | kInts | kBool;
inline constexpr DTypeSet kAnyDType = ~DTypeSet{0};

/// What a vjp sees: the call and the gradients of its outputs (undefined where none arrived). It gives back one gradient per input, undefined for none.
struct VjpCall {
  std::span<const Tensor> inputs;  // undefined where absent or a number
  std::span<const Tensor> outputs;
  std::span<const Tensor> grads;
  AttrsRef attrs;
  std::span<const Number> numbers = {};      // per input: what it is where its tensor is undefined; may be empty when no input is a number
  std::uint64_t wanted = ~std::uint64_t{0};  // bit i: the gradient of input i has a use; a costly one is left undefined without it
  bool wants(std::size_t input) const { return input >= 64 || (wanted >> input & 1) != 0; }
  template <class T>
  const T& attributes() const {
    return *static_cast<const T*>(attrs.data);
  }
};
using Vjp = std::vector<Tensor> (*)(const VjpCall&);

struct OpDef {
  std::string_view name;
  int version = 1;
  std::string_view doc = {};
  FixedList<InputDef, 6> inputs = {};
  const AttrsInfo* attrs = nullptr;  // null: none
  Promotion promote = Promotion::None;
  DTypeSet dtypes = kAnyDType;
  int output_count = 1;
  Infer infer = nullptr;
  Lowering lower = {};
  Vjp vjp = nullptr;
  Reference reference = nullptr;
  Samples samples = nullptr;
};
/// Whether a node of the op may have `count` operands: all inputs, or any number >= 1 in place of a last input that is a list.
bool accepts_operand_count(const OpDef& op, std::size_t count);

}  // namespace resilin::ir
