// tests/support/nest_case.cpp -- memory for hand-built nests, and comparing the ways to run them.
#include "tests/support/nest_case.h"

#include <cstring>
#include <exception>

#include "resilin/base/hash.h"

namespace resilin::test {

namespace {

using Role = loop::Buffer::Role;

/// Element k of buffer `seed`: floats in [-4, 4) with a few zeros of both signs, small integers.
std::uint64_t element_bits(DType dtype, int seed, i64 k) {
  const std::uint64_t random = hash_mix(static_cast<std::uint64_t>(seed) + 17, static_cast<std::uint64_t>(k));
  if (dtype == DType::Bool) return random >> 40 & 1;
  if (is_integral(dtype)) return loop::Scalar::constant_integer(dtype, static_cast<i64>(random >> 40) % 100).bits();
  const double number = static_cast<double>(random >> 40) / (1 << 24) * 8 - 4;
  const double value = random % 16 == 0 ? 0.0 : random % 16 == 1 ? -0.0 : number;
  return loop::Scalar::constant(dtype, value).bits();
}

}  // namespace

bool same_outcome(const Outcome& a, const Outcome& b) {
  if (a.failure.has_value() != b.failure.has_value() || !a.refused.empty() || !b.refused.empty()) return false;
  if (a.failure) {
    const loop::Failure& x = *a.failure;
    const loop::Failure& y = *b.failure;
    if (x.code != y.code || x.operand != y.operand || x.element != y.element || x.value != y.value) return false;
  }
  return a.memory == b.memory;
}

int NestCase::add(DType dtype, Role role, Dim elements, i64 filled) {
  const int index = static_cast<int>(nest.buffers.size());
  nest.buffers.push_back({cat("b", index), dtype, role, elements});
  std::vector<std::byte> bytes(static_cast<std::size_t>(filled * size_bytes(dtype)));
  for (i64 k = 0; k < filled; ++k) {
    const std::uint64_t bits = element_bits(dtype, index, k);
    std::memcpy(bytes.data() + k * size_bytes(dtype), &bits, static_cast<std::size_t>(size_bytes(dtype)));
  }
  memory_.push_back(std::move(bytes));
  return index;
}

int NestCase::input(DType dtype, i64 elements) { return add(dtype, Role::Input, 0, elements); }
int NestCase::output(DType dtype, i64 elements) { return add(dtype, Role::Output, 0, elements); }
int NestCase::partial(DType dtype, Dim elements) { return add(dtype, Role::Partial, elements, size_of(elements)); }
int NestCase::row(DType dtype, Dim elements) { return add(dtype, Role::Row, elements, 0); }
int NestCase::entry(DType dtype) { return add(dtype, Role::Entry, 0, 0); }

Dim NestCase::size(i64 value) {
  if (!symbolic) return value;
  integers_.push_back(value);
  return s(nest.integer_count++);
}

loop::Scalar NestCase::argument(DType dtype, double value) {
  values_.push_back(loop::Scalar::constant(dtype, value).bits());
  nest.argument_dtypes.push_back(dtype);
  return loop::Scalar::argument(dtype, static_cast<int>(values_.size()) - 1);
}

void NestCase::table_entry(std::vector<int> buffers, std::vector<i64> integers) {
  table_.push_back({std::move(buffers), std::move(integers)});
}

void NestCase::set(int buffer, const std::vector<i64>& values) {
  std::vector<std::byte>& bytes = memory_[static_cast<std::size_t>(buffer)];
  std::memcpy(bytes.data(), values.data(), std::min(bytes.size(), values.size() * sizeof(i64)));
}

void NestCase::phase(Dim extent, bool vector, loop::Block body) {
  nest.phases.push_back({symbol_i(0), extent, vector, std::move(body), 1});
}

i64 NestCase::size_of(Dim d) const {
  return evaluate(d, [&](Symbol symbol) { return integers_.at(static_cast<std::size_t>(symbol.index)); });
}

loop::Arguments NestCase::arguments(std::vector<std::vector<std::byte>>& memory) const {
  loop::Arguments arguments = {{}, integers_, values_, {}};
  for (std::size_t k = 0; k < memory.size(); ++k) {
    const Role role = nest.buffers[k].role;
    arguments.pointers.push_back(role == Role::Row || role == Role::Entry ? nullptr : memory[k].data());
  }
  for (const Entry& entry : table_) {
    loop::TableEntry row = {{}, entry.integers};
    for (const int buffer : entry.buffers) row.pointers.push_back(memory[static_cast<std::size_t>(buffer)].data());
    arguments.table.push_back(std::move(row));
  }
  return arguments;
}

Outcome NestCase::interpret() const {
  return run_by([&](loop::Arguments given, std::span<const Region>) {
    for (std::size_t k = 0; k < nest.buffers.size(); ++k) {
      if (nest.buffers[k].role == Role::Partial) given.pointers[k] = nullptr;
    }
    return loop::interpret(nest, given);
  });
}

Outcome NestCase::run_by(
    const std::function<std::optional<loop::Failure>(const loop::Arguments&, std::span<const Region>)>& execute) const {
  Outcome outcome = {memory_, {}, {}};
  std::vector<Region> regions;
  for (std::size_t k = 0; k < nest.buffers.size(); ++k) {
    regions.push_back({outcome.memory[k].data(), static_cast<i64>(outcome.memory[k].size()), nest.buffers[k].role != Role::Input});
  }
  try {
    outcome.failure = execute(arguments(outcome.memory), regions);
  } catch (const std::exception& error) {
    outcome.refused = error.what();
  }
  for (std::size_t k = 0; k < nest.buffers.size(); ++k) {
    if (nest.buffers[k].role == Role::Partial) outcome.memory[k].clear();
  }
  return outcome;
}

Outcome NestCase::run(const loop::VectorTarget& target, loop::Mutant mutant) const {
  return run_by([&](const loop::Arguments& given, std::span<const Region> regions) {
    return run_program(loop::vectorize(nest, target, mutant), nest, given, regions, 3);
  });
}

}  // namespace resilin::test
