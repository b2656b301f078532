// src/resilin/loop/interpret_scalar.cpp -- evaluates expressions node by node, through evaluate_primitive.
#include "resilin/loop/interpret_scalar.h"

#include <array>
#include <cstring>

namespace resilin::loop {
namespace {

template <class T>
T read_as(const void* buffer, i64 offset) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(buffer) + offset * static_cast<i64>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void resize_to_hold(std::vector<T>& list, int index) {
  if (static_cast<std::size_t>(index) >= list.size()) list.resize(static_cast<std::size_t>(index) + 1);
}

}  // namespace

std::uint64_t read_element(DType dtype, const void* buffer, i64 offset) {
  switch (dtype) {
    case DType::Bool: return read_as<std::uint8_t>(buffer, offset) != 0;
    case DType::I8: return static_cast<std::uint64_t>(i64{read_as<std::int8_t>(buffer, offset)});
    case DType::I16: return static_cast<std::uint64_t>(i64{read_as<std::int16_t>(buffer, offset)});
    case DType::I32: return static_cast<std::uint64_t>(i64{read_as<std::int32_t>(buffer, offset)});
    default: break;
  }
  switch (size_bytes(dtype)) {
    case 1: return read_as<std::uint8_t>(buffer, offset);
    case 2: return read_as<std::uint16_t>(buffer, offset);
    case 4: return read_as<std::uint32_t>(buffer, offset);
    default: return read_as<std::uint64_t>(buffer, offset);
  }
}

void write_element(DType dtype, void* buffer, i64 offset, std::uint64_t bits) {
  const i64 size = size_bytes(dtype);  // little endian: the low bytes come first
  std::memcpy(static_cast<std::byte*>(buffer) + offset * size, &bits, static_cast<std::size_t>(size));
}

ScalarInterpreter::ScalarInterpreter(const Nest& nest, const Arguments& arguments)
    : arguments_(arguments), pointers_(arguments.pointers), lookup_([this](Symbol s) { return symbol(s); }) {
  RESILIN_ASSERT(arguments.pointers.size() == nest.buffers.size(),
                 cat("interpret: ", arguments.pointers.size(), " pointers for ", nest.buffers.size(), " buffers"));
  RESILIN_ASSERT(static_cast<int>(arguments.integers.size()) == nest.integer_count,
                 cat("interpret: ", arguments.integers.size(), " integers for ", nest.integer_count));
  RESILIN_ASSERT(arguments.values.size() == nest.argument_dtypes.size(),
                 cat("interpret: ", arguments.values.size(), " values for ", nest.argument_dtypes.size()));
}

void ScalarInterpreter::set_symbol(Symbol s, i64 value) {
  std::vector<i64>& list = s.space == 'i' ? variables_ : bound_;
  resize_to_hold(list, s.index);
  list[static_cast<std::size_t>(s.index)] = value;
}

i64 ScalarInterpreter::symbol(Symbol s) const {
  const std::vector<i64>& list = s.space == 's' ? arguments_.integers : s.space == 'i' ? variables_ : bound_;
  return list.at(static_cast<std::size_t>(s.index));
}

void ScalarInterpreter::set_local(int index, std::uint64_t bits) {
  resize_to_hold(locals_, index);
  locals_[static_cast<std::size_t>(index)] = bits;
}

i64 ScalarInterpreter::dim(Dim e) {
  if (e.is_constant()) return e.value();
  return e.is_symbol() ? symbol(e.as_symbol()) : evaluate(e, lookup_);
}

int ScalarInterpreter::slot(const Scalar& a) {
  const std::unordered_map<const void*, int>::iterator found = by_node_.find(a.identity());
  if (found != by_node_.end()) return found->second;
  Slot made{a, {-1, -1, -1}};
  for (std::size_t i = 0; i < a.args().size(); ++i) made.args[i] = slot(a.args()[i]);
  const int position = static_cast<int>(slots_.size());
  slots_.push_back(made);
  by_node_.emplace(a.identity(), position);
  return position;
}

std::uint64_t ScalarInterpreter::compute(int slot) {
  Slot& s = slots_[static_cast<std::size_t>(slot)];
  if (s.round != round_) {
    s.value = compute_node(s.scalar, s.args);
    s.round = round_;
  }
  return s.value;
}

std::uint64_t ScalarInterpreter::compute_node(const Scalar& a, const int* args) {
  switch (a.code()) {
    case Code::Constant: return a.bits();
    case Code::Input: return inputs_[static_cast<std::size_t>(a.index())];
    case Code::Load: return read_element(a.dtype(), pointer(a.index()), dim(a.offset()));
    case Code::Integer: return static_cast<std::uint64_t>(dim(a.offset()));
    case Code::Argument: return Scalar::constant_bits(a.dtype(), arguments_.values[static_cast<std::size_t>(a.index())]).bits();
    case Code::Local: return locals_.at(static_cast<std::size_t>(a.index()));
    case Code::Select: return compute(args[0]) != 0 ? compute(args[1]) : compute(args[2]);
    default: break;
  }
  std::array<std::uint64_t, 3> operands{};
  const std::size_t count = a.args().size();
  for (std::size_t i = 0; i < count; ++i) operands[i] = compute(args[i]);
  return evaluate_primitive(a.code(), a.dtype(), a.args().back().dtype(), {operands.data(), count});
}

}  // namespace resilin::loop
