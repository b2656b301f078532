// tests/sweep/sweep_test.cpp -- every op of the registry over the cases that follow from its samples.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "resilin/ops/registry.h"

#include "tests/sweep/check.h"
#include "tests/sweep/settings.h"

using namespace resilin;

namespace {

void sweep_op(const ir::OpDef& op, const sweep::Settings& settings, sweep::Checker& checker, i64& position) {
  for (const sweep::Case& c : sweep::cases_of(op, sweep::Extent::Full, settings.seed)) {
    if (position++ % settings.subset == 0) checker.run(c);
  }
}

}  // namespace

TEST_CASE("every op has a reference and samples") {
  for (const OpTable& family : op_families()) {
    for (const ir::OpDef* op : family) {
      CHECK_MESSAGE((op->reference != nullptr), op->name);
      CHECK_MESSAGE((op->samples != nullptr && !op->samples().empty()), op->name);
    }
  }
}

TEST_CASE("eager, planned, interpreted and reference agree for every op") {
  const sweep::Settings settings = sweep::settings();
  sweep::name_case_in_crashes();
  sweep::Report report;
  sweep::Checker checker(report, sweep::Checker::Depth::All);
  i64 position = 0;
  i64 number = 0;
  for (const OpTable& family : op_families()) {
    for (const ir::OpDef* op : family) {
      const bool is_in_part = settings.part == 0 || number++ % 2 == settings.part - 1;
      if (is_in_part && settings.takes(op->name)) sweep_op(*op, settings, checker, position);
    }
  }
  std::printf("%s\n", report.summary().c_str());
  std::printf("sweep: seed %llu (RESILIN_SWEEP_SEED), every %lld-th case (RESILIN_SWEEP_SUBSET)\n",
              static_cast<unsigned long long>(settings.seed), static_cast<long long>(settings.subset));
  CHECK_MESSAGE(report.failures() == 0, report.failure_text());
}
