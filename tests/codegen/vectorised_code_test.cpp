// tests/codegen/vectorised_code_test.cpp -- the code of every hand-built nest gives the interpreter's bits on each instruction set of this machine.
#include <cstdlib>
#include <memory>

#include <doctest/doctest.h>

#include "resilin/codegen/generate.h"
#include "resilin/codegen/image.h"

#include "tests/support/nests.h"

namespace resilin {
namespace {

using test::NestCase;
using test::Outcome;

std::shared_ptr<const Code> make_code(const NestCase& c, Isa isa, std::string_view name) {
  const Target target = describe_target(isa);
  const LinkedCode linked = generate(loop::vectorize(c.nest, target.vector), table_words(c.nest), target, std::string(name));
  return map_image(make_image({isa, target.features, std::string(name)}, linked), Origin::Compiled);
}

std::optional<loop::Failure> run_code(const NestCase& c, const Code& code, const loop::Arguments& arguments) {
  std::vector<i64> table;
  for (const loop::TableEntry& entry : arguments.table) {
    for (void* const pointer : entry.pointers) table.push_back(reinterpret_cast<i64>(pointer));
    table.insert(table.end(), entry.integers.begin(), entry.integers.end());
  }
  Status status;
  const Launch launch = {&kAbi,
                         arguments.pointers.data(),
                         arguments.integers.data(),
                         arguments.values.data(),
                         table.data(),
                         static_cast<i64>(arguments.table.size()),
                         &status};
  const i64 row_size = (c.size_of(row_bytes(c.nest)) + 127) / 64 * 64;
  const std::unique_ptr<std::byte, void (*)(void*)> row(static_cast<std::byte*>(std::aligned_alloc(64, static_cast<std::size_t>(row_size))),
                                                        std::free);
  for (std::size_t p = 0; p < c.nest.phases.size(); ++p) {
    const i64 extent = c.size_of(c.nest.phases[p].extent);
    const i64 step = c.nest.phases[p].vector ? 64 : 3;
    for (i64 begin = 0; begin < extent; begin += step)
      code.phase(static_cast<int>(p))(&launch, begin, std::min(begin + step, extent), row.get());
  }
  if (status.code == StatusCode::Ok) return std::nullopt;
  return loop::Failure{static_cast<int>(status.code), status.operand, status.element.load(), status.value};
}

std::vector<Isa> machine_isas() {
  std::vector<Isa> isas = {Isa::Avx2};
  if (choose_isa(cpu_features(), TargetChoice::Auto) == Isa::Avx512) isas.push_back(Isa::Avx512);
  return isas;
}

TEST_CASE("the code of every hand-built nest gives the interpreter's bits") {
  for (const test::NamedNest& named : test::all_nests()) {
    for (const Isa isa : machine_isas()) {
      const std::shared_ptr<const Code> code = make_code(named.build(1, true), isa, named.name);
      for (const i64 n : {0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 130}) {
        const NestCase c = named.build(n, true);
        const Outcome outcome =
            c.run_by([&](const loop::Arguments& given, std::span<const test::Region>) { return run_code(c, *code, given); });
        CHECK_MESSAGE(same_outcome(outcome, c.interpret()), std::string(named.name), ", n = ", n, ", isa ", static_cast<int>(isa));
      }
      const NestCase fixed = named.build(65, false);
      const std::shared_ptr<const Code> fixed_code = make_code(fixed, isa, named.name);
      const Outcome outcome =
          fixed.run_by([&](const loop::Arguments& given, std::span<const test::Region>) { return run_code(fixed, *fixed_code, given); });
      CHECK_MESSAGE(same_outcome(outcome, fixed.interpret()), std::string(named.name), ", constant sizes, isa ", static_cast<int>(isa));
    }
  }
}

}  // namespace
}  // namespace resilin
