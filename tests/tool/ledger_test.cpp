// tests/tool/ledger_test.cpp -- right ledgers verify, and each kind of damage is found and named.
#include "tools/resilin/ledger.h"

#include <filesystem>
#include <fstream>
#include <functional>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/json.h"

#include "tests/support/temporary_folder.h"
#include "tests/tool/ledger_kit.h"

namespace resilin {
namespace {

using testing::eventful_ledger;
using testing::LedgerFiles;
using testing::LedgerJob;
using testing::LedgerLine;
using testing::TemporaryFolder;
using tool::LedgerAccount;
using Kind = LedgerLine::Kind;

LedgerAccount verify(const LedgerFiles& files) {
  const TemporaryFolder folder;
  files.write(folder.path() + "/ledger");
  return tool::verify_ledger(folder.path());
}

/// The n-th line of this kind and step of a file.
LedgerLine& line_of(LedgerFiles& files, const std::string& file, Kind kind, i64 step) {
  for (LedgerLine& line : files.lines.at(file)) {
    if (line.kind == kind && line.step == step) return line;
  }
  throw std::runtime_error(cat("no such line: ", file, ", step ", step));
}

void erase(LedgerFiles& files, const std::string& file, Kind kind, i64 step) {
  std::erase_if(files.lines.at(file), [&](const LedgerLine& line) { return line.kind == kind && line.step == step; });
}

/// Every text of the violations, and that the JSON says the same.
std::string told(const LedgerAccount& account) {
  const Json json = parse_json(ledger_json(account));
  CHECK(json.at("holds").flag() == account.holds());
  CHECK(json.at("violations").array().size() == account.violations.size());
  return ledger_text(account);
}

/// The eventful ledger after one change has violations of this kind, one of which says this.
LedgerAccount damaged(const char* kind, const std::string& saying, const std::function<void(LedgerFiles&)>& change) {
  LedgerFiles files = eventful_ledger(1);
  change(files);
  const LedgerAccount account = verify(files);
  CAPTURE(kind);
  const std::string text = told(account);
  CHECK(account.kinds.contains(kind));
  CHECK_MESSAGE(text.find(saying) != std::string::npos, text);
  return account;
}

TEST_CASE("a job of one generation verifies, and the words say what was checked") {
  LedgerJob job(1);
  job.generation({0, 1, 2, 3});
  job.steps(12);
  const LedgerAccount account = verify(job.files());
  CHECK(account.holds());
  CHECK(ledger_text(account) ==
        "ledger: 12 steps (0 to 11), 288 samples, 4 files: every step once, one state each, no sample missing or twice\n");
}

TEST_CASE("a job with kills, retries, steps in doubt, new lives and two epochs verifies") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const LedgerAccount account = verify(eventful_ledger(seed));
    CHECK_MESSAGE(account.holds(), ledger_text(account));
    CHECK(account.files == 7);
    CHECK(account.torn == 2);
    CHECK(account.steps == 32);
    CHECK(account.last_step == 31);
    CHECK(account.samples == 32 * LedgerJob::kBatch);
    CHECK(account.samples_missing == 0);
    CHECK(account.samples_twice == 0);
  }
}

TEST_CASE("a resumed job begins in the midst of an epoch") {
  LedgerJob job(1, 5);
  job.generation({0, 1});
  job.steps(10);
  const LedgerAccount account = verify(job.files());
  CHECK_MESSAGE(account.holds(), ledger_text(account));
  CHECK(account.first_step == 5);
  CHECK(account.last_step == 14);
}

TEST_CASE("the folder of a run and that of its ledger give the same account") {
  const TemporaryFolder folder;
  eventful_ledger(1).write(folder.path() + "/ledger");
  CHECK(ledger_json(tool::verify_ledger(folder.path())) == ledger_json(tool::verify_ledger(folder.path() + "/ledger")));
}

TEST_CASE("a step that nobody did is missing") {
  const LedgerAccount account = damaged("missing step", "step 4 is done by nobody, but step 5 is", [](LedgerFiles& files) {
    for (const char* file : {"0.1", "1.1", "2.1", "3.1"}) erase(files, file, Kind::Done, 4);
  });
  CHECK(account.steps_missing == 1);
  CHECK(account.steps == 31);
  // Its epoch is over, so its samples were never visited.
  CHECK(account.samples_missing == LedgerJob::kBatch);
  CHECK(account.kinds.contains("epoch"));
}

TEST_CASE("a step that two votes committed is a lost commit") {
  const LedgerAccount account = damaged("lost commit", "step 5 is done as 9.5.0, but 0.1.jsonl:14 did it as 1.5.0", [](LedgerFiles& files) {
    for (const char* file : {"0.1", "1.1", "2.1", "3.1"}) {
      LedgerLine again = line_of(files, file, Kind::Try, 5);
      again.id = "9.5.0";
      std::vector<LedgerLine>& lines = files.lines.at(file);
      lines.insert(lines.begin() + 1, again);
    }
    line_of(files, "3.1", Kind::Done, 5).id = "9.5.0";
  });
  CHECK(account.steps_twice == 1);
  CHECK(account.kinds.size() == 1);
}

TEST_CASE("each vote that committed a step needs its tries, the lost one too") {
  damaged("votes", "step 5 is done as 0.5.0, for which nobody voted",
          [](LedgerFiles& files) { line_of(files, "3.1", Kind::Done, 5).id = "0.5.0"; });
}

TEST_CASE("a sample of an earlier step counts once in each step that has it") {
  const LedgerAccount account = damaged("samples", "step 8 has 23 different samples", [](LedgerFiles& files) {
    LedgerLine& line = line_of(files, "1.1", Kind::Try, 8);
    line.samples[0] = line.samples[1] = line_of(files, "0.1", Kind::Try, 7).samples[0];
  });
  CHECK(account.samples_twice == 2);
  CHECK(account.samples_missing == 2);
}

TEST_CASE("states of one step that differ are found") {
  const LedgerAccount account = damaged("state", "step 6 gave state 0123, but by 0.1.jsonl",
                                        [](LedgerFiles& files) { line_of(files, "2.1", Kind::Done, 6).state = "0123"; });
  CHECK(account.states_differ == 1);
  CHECK(account.kinds.size() == 1);
}

TEST_CASE("a life that does a step twice or out of order is found") {
  damaged("order", "step 6 is done twice by this life",
          [](LedgerFiles& files) { files.lines.at("3.1").push_back(line_of(files, "3.1", Kind::Done, 6)); });
  damaged("order", "step 2 is done out of order", [](LedgerFiles& files) {
    const LedgerLine moved = line_of(files, "3.1", Kind::Done, 2);
    erase(files, "3.1", Kind::Done, 2);
    files.lines.at("3.1").push_back(moved);
  });
  damaged("order", "for which this life did not vote before", [](LedgerFiles& files) {
    const LedgerLine moved = line_of(files, "3.1", Kind::Try, 2);
    erase(files, "3.1", Kind::Try, 2);
    files.lines.at("3.1").push_back(moved);
  });
  damaged("order", "the job begins with step 3", [](LedgerFiles& files) {
    for (auto& [name, lines] : files.lines) lines[0].first_step = 3;
  });
}

TEST_CASE("a committed vote needs one try of each group rank, of one world and epoch") {
  damaged("votes", "was committed with the tries of 3 of 4 group ranks; that of group rank 1 is missing", [](LedgerFiles& files) {
    erase(files, "1.1", Kind::Try, 8);
    erase(files, "1.1", Kind::Done, 8);
  });
  damaged("votes", "is the second one of group rank 2", [](LedgerFiles& files) { line_of(files, "1.1", Kind::Try, 8).group_rank = 2; });
  damaged("votes", "is of group rank 4 in a world of 4", [](LedgerFiles& files) { line_of(files, "1.1", Kind::Try, 8).group_rank = 4; });
  damaged("votes", "is of a world of 5, but by 0.1.jsonl", [](LedgerFiles& files) { line_of(files, "1.1", Kind::Try, 8).world = 5; });
  damaged("votes", "is of epoch 1, but by 0.1.jsonl", [](LedgerFiles& files) { line_of(files, "1.1", Kind::Try, 8).epoch = 1; });
  damaged("votes", "for which nobody voted", [](LedgerFiles& files) {
    for (const char* file : {"0.1", "1.1", "2.1", "3.1"}) erase(files, file, Kind::Try, 8);
  });
}

TEST_CASE("a try of a rank that died after its vote counts") {
  // Step 16 of the eventful ledger: rank 1 voted and left no done.
  damaged("votes", "that of group rank 1 is missing", [](LedgerFiles& files) { erase(files, "1.1", Kind::Try, 16); });
}

TEST_CASE("samples that are missing, twice or outside are found and counted") {
  const LedgerAccount missing = damaged("samples", "step 8 has 23 different samples; the batch is 24",
                                        [](LedgerFiles& files) { line_of(files, "1.1", Kind::Try, 8).samples.pop_back(); });
  CHECK(missing.samples_missing == 1);
  CHECK(missing.samples_twice == 0);
  const LedgerAccount unfinished = damaged("samples", "step 28 has 23 different samples; the batch is 24",
                                           [](LedgerFiles& files) { line_of(files, "1.2", Kind::Try, 28).samples.pop_back(); });
  CHECK(unfinished.samples_missing == 1);
  const LedgerAccount twice = damaged("samples", " twice", [](LedgerFiles& files) {
    LedgerLine& line = line_of(files, "1.1", Kind::Try, 8);
    line.samples[0] = line.samples[1];
  });
  CHECK(twice.samples_twice == 1);
  CHECK(twice.samples_missing == 1);
  const LedgerAccount outside =
      damaged("samples", "which is outside of 0 to 299", [](LedgerFiles& files) { line_of(files, "1.1", Kind::Try, 8).samples[0] = 300; });
  CHECK(outside.samples_missing == 1);
  damaged("samples", "has sample -1, which is outside", [](LedgerFiles& files) { line_of(files, "1.1", Kind::Try, 8).samples[0] = -1; });
  const LedgerAccount more = damaged("samples", "step 8 has 25 different samples", [](LedgerFiles& files) {
    line_of(files, "1.1", Kind::Try, 8).samples.push_back(line_of(files, "1.1", Kind::Try, 7).samples[0]);
  });
  CHECK(more.samples_twice == 1);
  CHECK(more.samples_missing == 0);
}

TEST_CASE("a sample of two steps of one epoch is found") {
  const LedgerAccount account = damaged("samples", "which step 7 of epoch 0 had", [](LedgerFiles& files) {
    line_of(files, "1.1", Kind::Try, 8).samples[0] = line_of(files, "0.1", Kind::Try, 7).samples[0];
  });
  CHECK(account.samples_twice == 1);
  CHECK(account.samples_missing == 1);
}

TEST_CASE("epochs have all their steps, one after the other") {
  const auto set_epoch = [](LedgerFiles& files, i64 from, i64 to, i64 epoch) {
    for (auto& [name, lines] : files.lines) {
      for (LedgerLine& line : lines) line.epoch = line.step >= from && line.step <= to ? epoch : line.epoch;
    }
  };
  damaged("epoch", "epoch 0 has 11 steps; 300 samples in batches of 24 make 12", [&](LedgerFiles& files) { set_epoch(files, 11, 11, 1); });
  damaged("epoch", "epoch 0 has 13 steps", [&](LedgerFiles& files) { set_epoch(files, 12, 12, 0); });
  damaged("epoch", "epoch 2 begins with step 3, before step 23 of an earlier epoch",
          [&](LedgerFiles& files) { set_epoch(files, 3, 3, 2); });
  const LedgerAccount skipped =
      damaged("epoch", "epoch 2 has no step, but epoch 3 has begun", [&](LedgerFiles& files) { set_epoch(files, 24, 31, 3); });
  CHECK(skipped.samples_missing == 288);
}

TEST_CASE("headers must be there, agree with each other and with the name") {
  damaged("header", "7 samples an epoch",
          [](LedgerFiles& files) { files.lines.at("1.1")[0].batch = 7, files.lines.at("1.1")[0].samples_per_epoch = 7; });
  damaged("header", "an epoch needs a step", [](LedgerFiles& files) { files.lines.at("1.1")[0].samples_per_epoch = 7; });
  damaged("header", "the first line says rank 1, life 5, the name 1.1", [](LedgerFiles& files) { files.lines.at("1.1")[0].life = 5; });
  damaged("header", "the key \"ledger\" is missing",
          [](LedgerFiles& files) { files.lines.at("1.1").erase(files.lines.at("1.1").begin()); });
  damaged("file", "the name is not RANK.LIFE.jsonl", [](LedgerFiles& files) { files.lines["01.1"] = {}; });
  damaged("line", "both or none of try and done", [](LedgerFiles& files) { files.lines.at("1.1").push_back(files.lines.at("1.1")[0]); });
}

TEST_CASE("a torn last line is left out, and one that lacks its line feed alone is not") {
  LedgerFiles files = eventful_ledger(1);
  files.torn["3.1"] = R"({"try":"9.9)";
  CHECK(verify(files).holds());
  CHECK(verify(files).torn == 3);
  LedgerLine& last = files.lines.at("3.1").back();
  files.torn["3.1"] = last.text();
  last.state = "0123";
  CHECK(verify(files).kinds.contains("state"));
  files.torn["3.1"] = "{\"try\":\"9.9\n";
  CHECK(verify(files).kinds.contains("line"));
}

TEST_CASE("only the first violations of a kind are listed, and all are counted") {
  LedgerFiles files = eventful_ledger(1);
  for (LedgerLine& line : files.lines.at("3.1")) line.state = line.kind == Kind::Done ? "0123" : "";
  const LedgerAccount account = verify(files);
  CHECK(account.kinds.at("state") == 32);
  CHECK(account.states_differ == 32);
  CHECK(account.violations.size() == 20);
  CHECK(ledger_text(account).find("ledger: state: and 12 more of this kind\n") != std::string::npos);
}

TEST_CASE("numbers without measure are told and counted, and cost no time") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/0.1.jsonl")
      << R"({"ledger":1,"job":"x","rank":0,"life":1,"first_step":0,"batch":9223372036854775807,"samples_per_epoch":9223372036854775807})"
      << "\n"
      << R"({"try":"1.9223372036854775807.0","group_rank":0,"world":9223372036854775807,"epoch":9223372036854775807,"samples":[]})"
      << "\n"
      << R"({"done":"1.9223372036854775807.0","state":"x"})"
      << "\n"
      << R"({"done":"1.9223372036854775808.0","state":"x"})"
      << "\n";
  const LedgerAccount account = tool::verify_ledger(folder.path());
  CHECK(account.steps == 1);
  CHECK(account.steps_missing == 9223372036854775807);
  CHECK(account.samples_missing == 9223372036854775807);
  CHECK(account.kinds.contains("line"));
  CHECK(account.kinds.contains("votes"));
  CHECK(account.kinds.contains("epoch"));
}

TEST_CASE("files that are no ledger end in violations or a typed error") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/0.1.jsonl";
  CHECK_THROWS_WITH_AS(tool::verify_ledger(folder.path() + "/none"), doctest::Contains("No such file"), IoError);
  CHECK_THROWS_WITH_AS(tool::verify_ledger(folder.path()), doctest::Contains("no ledger files"), IoError);
  for (const std::string& bytes :
       {std::string(100'000, '\0'), std::string("\xff\xfe\n\n\n"), std::string("[]\n1\n\"x\"\nnull\n"), std::string(5'000'000, '['),
        std::string(R"({"ledger":"1"})"), std::string(R"({"ledger":1,"job":[],"rank":0})")}) {
    std::ofstream(path, std::ios::binary) << bytes << "\n";
    const LedgerAccount account = tool::verify_ledger(folder.path());
    CHECK_FALSE(account.holds());
    CHECK(account.steps == 0);
  }
  for (const char* line :
       {R"({"try":"1.0","group_rank":0,"world":1,"epoch":0,"samples":[]})",
        R"({"try":"1.0.0","group_rank":-1,"world":1,"epoch":0,"samples":[]})",
        R"({"try":"1.0.0","group_rank":0,"world":1.5,"epoch":0,"samples":[]})",
        R"({"try":"1.0.0","group_rank":0,"world":1,"epoch":0,"samples":["1"]})", R"({"try":"1.0.0","group_rank":0,"world":1,"epoch":0})",
        R"({"done":"1.0.0"})", R"({"done":"1.0.0","state":""})", R"({"done":1,"state":"x"})", R"({"done":"1.0.0","state":"x"} x)",
        R"({"done":"1.0.99999999999999999999","state":"x"})", ""}) {
    CAPTURE(line);
    std::ofstream(path, std::ios::binary) << R"({"ledger":1,"job":"x","rank":0,"life":1,"first_step":0,"batch":1,"samples_per_epoch":1})"
                                          << "\n"
                                          << line << "\n";
    CHECK(tool::verify_ledger(folder.path()).kinds == std::map<std::string, i64>{{"line", 1}});
  }
}

TEST_CASE("what cannot be read is a typed error") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/0.1.jsonl";
  std::ofstream(path) << "";
  std::filesystem::resize_file(path, std::uintmax_t{3} << 30);
  CHECK_THROWS_WITH_AS(tool::verify_ledger(folder.path()), doctest::Contains("too large"), IoError);
  std::filesystem::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(tool::verify_ledger(folder.path()), doctest::Contains("no regular file"), IoError);
}

TEST_CASE("files of lives that ended before their first line say nothing") {
  LedgerFiles files = eventful_ledger(1);
  files.lines["2.3"] = {};
  files.lines["2.4"] = {};
  files.torn["2.4"] = R"({"ledger":1,"jo)";
  const LedgerAccount account = verify(files);
  CHECK_MESSAGE(account.holds(), ledger_text(account));
  CHECK(account.files == 9);
}

TEST_CASE("the subcommand tells by its exit status what holds") {
  const TemporaryFolder folder;
  LedgerFiles files = eventful_ledger(1);
  files.write(folder.path() + "/ledger");
  CHECK(tool::ledger({"verify", folder.path()}) == 0);
  CHECK(tool::ledger({"verify", folder.path(), "--json"}) == 0);
  line_of(files, "2.1", Kind::Done, 6).state = "0123";
  files.write(folder.path() + "/ledger");
  CHECK(tool::ledger({"verify", folder.path(), "--json"}) == 3);
  CHECK(tool::ledger({}) == 2);
  CHECK(tool::ledger({"verify"}) == 2);
  CHECK(tool::ledger({"verify", folder.path(), "--xml"}) == 2);
  CHECK(tool::ledger({"prove", folder.path()}) == 2);
}

}  // namespace
}  // namespace resilin
