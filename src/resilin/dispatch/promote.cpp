// src/resilin/dispatch/promote.cpp -- Internal: the dtype to which apply brings the inputs of an op.
#include "resilin/dispatch/promote.h"

#include <algorithm>

namespace resilin {
namespace {

constexpr DType kDefaultFloat = DType::F32;

int category(DType t) { return t == DType::Bool ? 0 : is_integral(t) ? 1 : is_complex(t) ? 3 : 2; }

DType dtype_of_number(NumberKind kind) {
  if (kind == NumberKind::Float) return kDefaultFloat;
  return kind == NumberKind::Integer ? DType::I64 : DType::Bool;
}

bool takes_part(const ir::OpDef& op, std::size_t input) { return op.inputs[std::min(input, op.inputs.size() - 1)].promoted; }

// Tensors with axes decide; 0-d tensors and then numbers only where they are of a higher category.
std::optional<DType> arithmetic(const ir::OpDef& op, std::span<const PromotionInput> inputs) {
  std::optional<DType> ranked[3];  // with axes, 0-d, numbers
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_present || !takes_part(op, i)) continue;
    std::optional<DType>& slot = ranked[inputs[i].is_number ? 2 : inputs[i].ndim == 0 ? 1 : 0];
    const DType dtype = inputs[i].is_number ? dtype_of_number(inputs[i].kind) : inputs[i].dtype;
    slot = slot ? promote(*slot, dtype) : dtype;
  }
  std::optional<DType> result;
  for (const std::optional<DType>& next : ranked) {
    if (next && (!result || category(*next) > category(*result))) result = next;
  }
  return result;
}

std::string accepted(ir::DTypeSet set) {
  std::string out;
  for (int t = 0; t < kDTypeCount; ++t) {
    const DType dtype = static_cast<DType>(t);
    if ((set & ir::bit(dtype)) != 0) out += cat(out.empty() ? "" : " ", dtype);
  }
  return out;
}

std::optional<DType> first_dtype(const ir::OpDef& op, std::span<const PromotionInput> inputs, bool must_agree) {
  std::optional<DType> first;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_present || inputs[i].is_number || !takes_part(op, i)) continue;
    if (!first) first = inputs[i].dtype;
    if (must_agree && *first != inputs[i].dtype) {
      throw DtypeError(cat(op.name, ": dtypes differ: '", op.inputs[0].name, "' is ", *first, ", input ", i, " is ", inputs[i].dtype,
                           "; they must be equal"));
    }
  }
  return first;
}

}  // namespace

std::optional<DType> promoted_dtype(const ir::OpDef& op, std::span<const PromotionInput> inputs) {
  std::optional<DType> dtype;
  switch (op.promote) {
    case ir::Promotion::None: dtype = first_dtype(op, inputs, false); break;
    case ir::Promotion::First: dtype = first_dtype(op, inputs, true); break;
    case ir::Promotion::Arithmetic: dtype = arithmetic(op, inputs); break;
    case ir::Promotion::Floating:
      dtype = arithmetic(op, inputs);
      if (dtype && category(*dtype) < 2) dtype = kDefaultFloat;
      break;
  }
  if (dtype && (op.dtypes & ir::bit(*dtype)) == 0) {
    throw DtypeError(cat(op.name, ": not implemented for dtype ", *dtype, "; it takes ", accepted(op.dtypes)));
  }
  return op.promote == ir::Promotion::None ? std::nullopt : dtype;
}

void check_castable(std::string_view op, DType from, DType to) {
  if (category(from) <= category(to)) return;
  throw DtypeError(cat(op, ": result type ", from, " can't be cast to the desired output type ", to));
}

}  // namespace resilin
