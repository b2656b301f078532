// src/resilin/loop/interpret_scalar.h -- Internal: values of expressions while a nest is interpreted.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "resilin/loop/interpret.h"

namespace resilin::loop {

/// The bits of an element in memory, in the form of evaluate_primitive; and back.
std::uint64_t read_element(DType dtype, const void* buffer, i64 offset);
void write_element(DType dtype, void* buffer, i64 offset, std::uint64_t bits);

/// Evaluates expressions under the present values of symbols, locals, inputs and pointers. A node is computed once between two `begin`s;
/// of a Select only the side taken is computed.
class ScalarInterpreter {
 public:
  ScalarInterpreter(const Nest& nest, const Arguments& arguments);

  /// Forgets what was computed: symbols, locals, inputs or memory may have changed.
  void begin() { ++round_; }
  std::uint64_t value(const Scalar& a) { return compute(slot(a)); }
  bool condition(const Scalar& a) { return value(a) != 0; }
  i64 dim(Dim e);

  void set_symbol(Symbol s, i64 value);
  i64 symbol(Symbol s) const;
  void set_local(int index, std::uint64_t bits);
  void set_inputs(std::span<const std::uint64_t> inputs) { inputs_ = inputs; }
  void set_pointer(int buffer, void* pointer) { pointers_[static_cast<std::size_t>(buffer)] = pointer; }
  void* pointer(int buffer) const { return pointers_[static_cast<std::size_t>(buffer)]; }

 private:
  struct Slot {
    Scalar scalar;  // keeps the node alive: slots are found by its address
    int args[3];
    std::uint64_t value = 0;
    std::uint64_t round = 0;
  };
  int slot(const Scalar& a);
  std::uint64_t compute(int slot);
  std::uint64_t compute_node(const Scalar& a, const int* args);

  const Arguments& arguments_;
  std::uint64_t round_ = 0;
  std::vector<Slot> slots_;
  std::unordered_map<const void*, int> by_node_;
  std::vector<i64> variables_, bound_;  // of the spaces i and t
  std::vector<std::uint64_t> locals_;
  std::span<const std::uint64_t> inputs_;
  std::vector<void*> pointers_;
  std::function<i64(Symbol)> lookup_;
};

}  // namespace resilin::loop
