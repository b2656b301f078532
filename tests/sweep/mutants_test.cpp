// tests/sweep/mutants_test.cpp -- each fault that the generator injects turns every op red whose code it changes.
#include <array>
#include <csignal>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/config.h"
#include "resilin/codegen/generate.h"
#include "resilin/loop/vectorize.h"

#include "tests/support/child.h"
#include "tests/sweep/check.h"
#include "tests/sweep/sample_call.h"
#include "tests/sweep/settings.h"

using namespace resilin;

namespace {

using loop::Mutant;

// Values of the knob codegen.mutant, in the order of loop::Mutant behind None.
constexpr std::array<std::string_view, 10> kMutants = {"tail_mask", "stride", "reduce_init", "reduce_tree", "wrong_cast",
                                                       "fill",      "bound",  "scan_carry",  "position",    "check_mask"};
static_assert(kMutants.size() == static_cast<std::size_t>(Mutant::CheckMask));

constexpr unsigned kLimit_s = 60;
constexpr int kGreen = 0;
constexpr int kRed = 1;

// The nests of the cases, each text once.
std::vector<std::shared_ptr<const loop::Nest>> nests_of(const std::vector<sweep::Case>& cases) {
  std::map<std::string, std::shared_ptr<const loop::Nest>> by_text;
  for (const sweep::Case& c : cases) {
    const std::optional<sweep::Call> call = sweep::make_call(c);
    if (!call) continue;
    try {
      const EagerRecord record = eager_record(*c.op, call->arguments(), call->attrs.ref());
      bool is_known = true;
      for (const std::string& text : record.kernel_texts) is_known = is_known && by_text.count(text) != 0;
      if (is_known) continue;
      for (const Step& step : sweep::plan_text(ir::print(record.graph), record.size_class).steps) {
        if (const LaunchStep* launch = std::get_if<LaunchStep>(&step.body)) by_text.emplace(launch->text, launch->nest);
      }
    } catch (const Error&) {  // refused calls launch nothing; the sweep says whether they should
    }
  }
  std::vector<std::shared_ptr<const loop::Nest>> nests;
  for (const std::pair<const std::string, std::shared_ptr<const loop::Nest>>& entry : by_text) nests.push_back(entry.second);
  return nests;
}

bool changes_code(const std::vector<std::shared_ptr<const loop::Nest>>& nests, Mutant mutant) {
  const loop::VectorTarget target = describe_target(target_isa()).vector;
  for (const std::shared_ptr<const loop::Nest>& nest : nests) {
    if (loop::print(loop::vectorize(*nest, target, mutant)) != loop::print(loop::vectorize(*nest, target))) return true;
  }
  return false;
}

// In a child of its own, since a faulty kernel may touch any memory; it stops at the first failure.
int run_mutated(const std::vector<sweep::Case>& cases, std::string_view mutant) {
  std::fflush(stdout);
  return testing::run_in_child(
      [&] {
        if (std::freopen("/dev/null", "w", stdout) == nullptr || std::freopen("/dev/null", "w", stderr) == nullptr) return 97;
        for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(signal, SIG_DFL);
        config::set("codegen.mutant", mutant);
        sweep::Report report;
        sweep::Checker checker(report, sweep::Checker::Depth::Kernels);
        for (const sweep::Case& c : cases) {
          checker.run(c);
          if (report.failures() > 0) return kRed;
        }
        return kGreen;
      },
      kLimit_s);
}

void print_head() {
  std::printf("%-24s", "op");
  for (const std::string_view mutant : kMutants) std::printf(" %-11s", std::string(mutant).c_str());
  std::printf("\n");
}

}  // namespace

TEST_SUITE("mutants") {
  TEST_CASE("every fault in the generator turns red each op whose code it changes" * doctest::skip()) {
    const sweep::Settings settings = sweep::settings();
    std::array<int, kMutants.size()> caught{};
    std::array<int, kMutants.size()> changed{};
    print_head();
    for (const ir::OpDef* op : sweep::all_ops()) {
      if (!settings.takes(op->name)) continue;
      const std::vector<sweep::Case> cases = sweep::cases_of(*op, sweep::Extent::Few, settings.seed);
      const std::vector<std::shared_ptr<const loop::Nest>> nests = nests_of(cases);
      std::printf("%-24s", std::string(op->name).c_str());
      for (std::size_t m = 0; m < kMutants.size(); ++m) {
        if (!changes_code(nests, static_cast<Mutant>(m + 1))) {
          std::printf(" %-11s", "-");
          continue;
        }
        ++changed[m];
        const int status = run_mutated(cases, kMutants[m]);
        const bool is_red = status != kGreen;
        caught[m] += is_red ? 1 : 0;
        std::printf(" %-11s", is_red ? (status == kRed ? "red" : "red (crash)") : "GREEN");
        CHECK_MESSAGE(is_red, op->name, " stays green with ", std::string(kMutants[m]));
      }
      std::printf("\n");
      std::fflush(stdout);
    }
    for (std::size_t m = 0; m < kMutants.size() && settings.only.empty(); ++m) {
      std::printf("%s: changes the code of %d ops, turns %d red\n", std::string(kMutants[m]).c_str(), changed[m], caught[m]);
      CHECK_MESSAGE(caught[m] > 0, "no op is turned red by ", std::string(kMutants[m]));
    }
  }
}
