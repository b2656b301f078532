// tests/sweep/answers_test.cpp -- what eager answers to every case, kept in a file so that another machine can be held against this one.
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>

#include <doctest/doctest.h>

#include "resilin/base/config.h"

#include "tests/support/array.h"
#include "tests/sweep/attempt.h"
#include "tests/sweep/sample_call.h"
#include "tests/sweep/settings.h"

using namespace resilin;

namespace {

// One word: the bits of all outputs, or the error's class.
std::string answer_of(const sweep::Call& call) {
  const sweep::Attempt eager = sweep::attempt([&] { return apply(*call.op, call.arguments(), call.attrs.ref()); });
  if (eager.error != nullptr) return sweep::class_name(*eager.error);
  std::uint64_t bits = 0;
  for (const Tensor& output : eager.outputs) bits = test::hash_elements(output, bits);
  return cat(bits);
}

void for_each_answer(const std::function<void(const std::string& what, const std::string& answer)>& take) {
  const sweep::Settings settings = sweep::settings();
  sweep::name_case_in_crashes();
  sweep::Report report;  // names the case in a crash
  i64 position = 0;
  for (const ir::OpDef* op : sweep::all_ops()) {
    if (!settings.takes(op->name)) continue;
    for (const sweep::Case& c : sweep::cases_of(*op, sweep::Extent::Full, settings.seed)) {
      if (position++ % settings.subset != 0) continue;
      report.begin(c);
      const config::ScopedConfig guard("allocator.guard", c.seed % 2 == 0 ? "end" : "begin");
      if (const std::optional<sweep::Call> call = sweep::make_call(c)) take(describe(c), answer_of(*call));
    }
  }
}

std::string answers_path() {
  const std::string path = sweep::settings().answers;
  REQUIRE_MESSAGE(!path.empty(), "RESILIN_SWEEP_ANSWERS names no file");
  return path;
}

}  // namespace

TEST_SUITE("answers") {
  TEST_CASE("writes the answers of this machine" * doctest::skip()) {
    std::ofstream file(answers_path());
    for_each_answer([&](const std::string& what, const std::string& answer) { file << answer << ' ' << what << '\n'; });
    file.close();
    CHECK(file.good());
  }

  TEST_CASE("gives the answers of another machine" * doctest::skip()) {
    std::map<std::string, std::string> expected;
    std::ifstream file(answers_path());
    for (std::string answer, what; file >> answer && std::getline(file >> std::ws, what);) expected[what] = answer;
    i64 compared = 0;
    for_each_answer([&](const std::string& what, const std::string& answer) {
      const auto found = expected.find(what);
      REQUIRE_MESSAGE(found != expected.end(), "the file has no answer to ", what);
      CHECK_MESSAGE(answer == found->second, what);
      if (++compared % 1000 == 0) std::printf("answers: %lld compared\n", static_cast<long long>(compared));
    });
    std::printf("answers: %lld compared in all\n", static_cast<long long>(compared));
    CHECK(compared > 0);
  }
}
