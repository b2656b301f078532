// tests/sweep/kernels_test.cpp -- prints the nest of every kernel that the sweep launches: what a refactoring must leave as it is.
#include <cstdio>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "resilin/dispatch/execute.h"

#include "tests/sweep/sample_call.h"
#include "tests/sweep/settings.h"

using namespace resilin;

namespace {

void collect_kernels(const sweep::Case& c, std::set<std::string>& texts) {
  try {
    const std::optional<sweep::Call> call = sweep::make_call(c);
    if (!call) return;
    const EagerRecord record = eager_record(*c.op, call->arguments(), call->attrs.ref());
    texts.insert(record.kernel_texts.begin(), record.kernel_texts.end());
  } catch (const DtypeError&) {  // refused calls launch nothing
  } catch (const ShapeError&) {
  } catch (const IndexError&) {
  } catch (const ArgumentError&) {}
}

}  // namespace

TEST_SUITE("kernels") {
  TEST_CASE("prints the kernels of the sweep" * doctest::skip()) {
    const sweep::Settings settings = sweep::settings();
    std::set<std::string> texts;
    for (const ir::OpDef* op : sweep::all_ops()) {
      if (!settings.takes(op->name)) continue;
      for (const sweep::Case& c : sweep::cases_of(*op, sweep::Extent::Full, settings.seed)) {
        if (c.purpose != sweep::Purpose::Sizes) collect_kernels(c, texts);
      }
    }
    CHECK(!texts.empty());
    for (const std::string& text : texts) std::printf("%s\n", text.c_str());
  }
}
