// tests/oracle/oracle_test.cpp -- our ops against PyTorch's answers to the samples of its operator database: `make oracle`.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "resilin/base/file.h"
#include "resilin/io/safetensors.h"

#include "tests/oracle/report.h"
#include "tests/support/tensor.h"

using namespace resilin;
using namespace resilin::oracle;

namespace {

constexpr double kLeastAgreed = 0.97;

TensorsByName tensors_of(const std::string& folder, std::string_view op) {
  TensorsByName named;
  for (auto& [name, x] : read_safetensors(cat(folder, "/", op, ".safetensors")).tensors) named.emplace(name, x);
  return named;
}

// The calls of an op follow each other, so that one file of tensors is open at a time.
void run_all(const std::string& folder, Report& report, std::set<std::string>& ops) {
  std::ifstream index(folder + "/index.jsonl");
  const char* const only = std::getenv("RESILIN_ORACLE_OP");
  TensorsByName tensors;
  std::string open;
  for (std::string line; std::getline(index, line);) {
    const Json json = parse_json(line);
    const std::string& op = json.at("op").text();
    if (only != nullptr && op != only) continue;
    const Adapter* const adapter = find_adapter(op);
    REQUIRE_MESSAGE(adapter != nullptr, "no adapter calls " << op);
    if (op != open) tensors = tensors_of(folder, op);
    open = op;
    ops.insert(op);
    const Call call(json, tensors);
    report.add(call, judge(call, *adapter));
  }
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  REQUIRE_MESSAGE(out.flush().good(), path);
}

}  // namespace

TEST_SUITE("oracle") {
  TEST_CASE("our ops answer as PyTorch does" * doctest::skip()) {
    const char* const named = std::getenv("RESILIN_ORACLE_DIR");
    REQUIRE_MESSAGE(named != nullptr, "RESILIN_ORACLE_DIR names no folder");
    const std::string folder = named;
    Report report(parse_known(read_file(RESILIN_SOURCE_DIR "/tests/oracle/known.txt")));
    std::set<std::string> ops;
    run_all(folder, report, ops);
    std::printf("%s", report.table().c_str());
    write_text(folder + ".json", report.json());
    const std::string unexplained = report.unexplained();
    write_text(folder + "/unexplained.txt", unexplained);
    CHECK_MESSAGE(unexplained.empty(), unexplained.substr(0, 8000));
    CHECK(report.agreed_share() >= kLeastAgreed);
    if (std::getenv("RESILIN_ORACLE_OP") != nullptr) return;
    for (const std::string_view op : adapted_ops()) CHECK_MESSAGE(ops.contains(std::string(op)), "no vectors of " << op);
  }

  TEST_CASE("a difference of dtype, shape or element is seen, one within the tolerance is not") {
    const Tensor x = test::make<float>({1, -2, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()});
    CHECK(difference(x, x).empty());
    CHECK(difference(test::make<double>({1}), test::make<float>({1})) == "dtype is f64, torch's f32");
    CHECK(difference(test::make<float>({1}), test::scalar<float>(1)) == "shape is [1], torch's []");
    CHECK(difference(test::make<double>({1 + 1e-7}), test::make<double>({1})).empty());
    CHECK(difference(test::make<double>({1, 1 + 1e-6}), test::make<double>({1, 1})).starts_with("element 1 is 1.000001"));
    CHECK(difference(test::make<float>({1}), test::make<float>({std::numeric_limits<float>::quiet_NaN()})) ==
          "element 0 is 1, torch's nan");
    CHECK(difference(test::make<i64>({7}), test::make<i64>({8})) == "element 0 is 7, torch's 8");
  }

  TEST_CASE("a line of the known list has five fields") {
    CHECK(parse_known("# a comment\n\nadd | differs | 3 | f32 | why | not\n").at(0).reason == "why | not");
    CHECK_THROWS_AS(parse_known("add | 3 | f32 | why"), const ArgumentError&);
    CHECK_THROWS_AS(parse_known("add | differs | 3 | | why"), const ArgumentError&);
  }
}
