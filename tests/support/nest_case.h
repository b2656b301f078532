// tests/support/nest_case.h -- a hand-built nest with its memory, run by the interpreter, as a Program, or as code.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "resilin/loop/interpret.h"
#include "resilin/loop/nest.h"
#include "resilin/loop/vectorize.h"

#include "tests/support/program_interpreter.h"

namespace resilin::test {

inline Dim i(int index) { return Dim::symbol('i', index); }
inline Dim s(int index) { return Dim::symbol('s', index); }
inline Dim t(int index) { return Dim::symbol('t', index); }
inline Symbol symbol_i(int index) { return {'i', index}; }
inline Symbol symbol_t(int index) { return {'t', index}; }

template <class... Statements>
loop::Block block(Statements... statements) {
  return {loop::Statement{std::move(statements)}...};
}

/// The buffers after a run, and what a Check reported.
struct Outcome {
  std::vector<std::vector<std::byte>> memory;
  std::optional<loop::Failure> failure;
  std::string refused;  // why the program was stopped
};
bool same_outcome(const Outcome& a, const Outcome& b);

/// Buffers are filled with numbers that follow from their index.
class NestCase {
 public:
  loop::Nest nest;

  int input(DType dtype, i64 elements);
  int output(DType dtype, i64 elements);
  int partial(DType dtype, Dim elements);
  int row(DType dtype, Dim elements);
  /// An Entry buffer; its pointers come with the table.
  int entry(DType dtype);
  /// A size parameter: its symbol, or the number itself when `symbolic` is false.
  Dim size(i64 value);
  loop::Scalar argument(DType dtype, double value);
  /// One entry of the table: the buffers behind its pointers (made by input or output) and its integers.
  void table_entry(std::vector<int> buffers, std::vector<i64> integers);
  void set(int buffer, const std::vector<i64>& values);  // of an I64 buffer

  loop::Scalar load(int buffer, Dim offset) const { return loop::Scalar::load(dtype_of(buffer), buffer, offset); }
  DType dtype_of(int buffer) const { return nest.buffers[static_cast<std::size_t>(buffer)].dtype; }
  void phase(Dim extent, bool vector, loop::Block body);

  Outcome interpret() const;
  Outcome run(const loop::VectorTarget& target, loop::Mutant mutant = loop::Mutant::None) const;
  /// Calls `execute` with the arguments (Partial buffers have memory) and gives back what it did to the buffers.
  Outcome run_by(const std::function<std::optional<loop::Failure>(const loop::Arguments&, std::span<const Region>)>& execute) const;
  i64 size_of(Dim d) const;

  bool symbolic = true;

 private:
  struct Entry {
    std::vector<int> buffers;
    std::vector<i64> integers;
  };
  int add(DType dtype, loop::Buffer::Role role, Dim elements, i64 filled);
  loop::Arguments arguments(std::vector<std::vector<std::byte>>& memory) const;

  std::vector<std::vector<std::byte>> memory_;  // per buffer
  std::vector<i64> integers_;
  std::vector<std::uint64_t> values_;
  std::vector<Entry> table_;
};

}  // namespace resilin::test
