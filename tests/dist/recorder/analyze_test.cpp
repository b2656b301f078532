// tests/dist/recorder/analyze_test.cpp -- the analysis of recordings that are written down by hand: each cause alone, and their order.
#include "resilin/dist/recorder/analyze.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "resilin/base/json.h"
#include "resilin/base/text.h"
#include "resilin/dist/recorder/dump.h"

namespace resilin::dist {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// Writes one rank's recording down, event by event; times are seconds of the common clock.
class Script {
 public:
  Script(std::int32_t rank, std::int32_t world, double ahead_s = 0) : ahead_s_(ahead_s) {
    recording_.rank = rank;
    recording_.world = world;
    recording_.host = "host";
    recording_.source = cat("rank ", rank);
    recording_.beat_interval_ns = kSecond / 10;
    recording_.opened_ns = own(0);
    recording_.clock_domain = ahead_s == 0 ? 1 : 0;
    recording_.peers.resize(static_cast<std::size_t>(world));
    std::vector<std::int32_t> everyone;
    for (std::int32_t other = 0; other < world; ++other) everyone.push_back(other);
    recording_.groups.push_back({0, 1, "world", "", everyone});
  }

  Script& group(std::uint32_t number, const std::string& name, std::vector<std::int32_t> members) {
    recording_.groups.push_back({number, 1, name, "", std::move(members)});
    return *this;
  }
  /// Issues, starts and waits for an operation that is still open.
  Script& open(double time_s, std::uint32_t group, std::uint64_t sequence, std::uint64_t elements = 100) {
    Record record = make(time_s, RecordKind::Issued);
    record.work = ++works_;
    record.group = group;
    record.sequence = sequence;
    record.generation = 1;
    record.op = CollectiveKind::AllReduce;
    record.reduce = ReduceOp::Sum;
    record.input_elements = record.output_elements = elements;
    record.signature = elements;
    last_ = record;
    recording_.records.push_back(record);
    again(time_s, RecordKind::Started);
    return again(time_s, RecordKind::WaitBegan);
  }
  Script& finish(double time_s, RecordedStatus status = RecordedStatus::Success) {
    again(time_s, RecordKind::Finished);
    recording_.records.back().detail = static_cast<std::uint8_t>(status);
    return again(time_s, RecordKind::WaitEnded);
  }
  Script& lose(double time_s, std::int32_t peer, LossEvidence evidence) {
    Record record = make(time_s, RecordKind::PeerLost);
    record.peer = peer;
    record.generation = 1;
    record.detail = static_cast<std::uint8_t>(evidence);
    recording_.records.push_back(record);
    return *this;
  }
  Script& hungry(double time_s, std::int32_t peer) {
    RecordedPeer& row = recording_.peers[static_cast<std::size_t>(peer)];
    row.waits = 1;
    row.waiting_since_ns = own(time_s);
    row.waiting_work = works_;
    return *this;
  }
  Script& traffic(std::int32_t peer, std::uint64_t sent, std::uint64_t received) {
    RecordedPeer& row = recording_.peers[static_cast<std::size_t>(peer)];
    row.sent_bytes = sent;
    row.received_bytes = received;
    return *this;
  }
  Script& beat(double time_s) {
    recording_.beat_ns = own(time_s);
    return *this;
  }
  Script& end(double time_s, RecordingEnd ending) {
    recording_.ending = ending;
    recording_.ended_ns = own(time_s);
    return *this;
  }
  operator Recording() const { return recording_; }

 private:
  std::uint64_t own(double time_s) const { return static_cast<std::uint64_t>((time_s + ahead_s_ + 1000) * kSecond); }
  Record make(double time_s, RecordKind kind) const {
    Record record;
    record.time_ns = own(time_s);
    record.kind = kind;
    return record;
  }
  Script& again(double time_s, RecordKind kind) {
    Record record = last_;
    record.time_ns = own(time_s);
    record.kind = kind;
    recording_.records.push_back(record);
    return *this;
  }

  Recording recording_;
  Record last_;
  std::uint64_t works_ = 0;
  double ahead_s_ = 0;
};

/// The only culprit; fails the test when there is none or more than one.
Finding cause(const Analysis& analysis) {
  INFO(analysis_text(analysis));
  std::vector<Finding> blamed;
  std::copy_if(analysis.findings.begin(), analysis.findings.end(), std::back_inserter(blamed), [](const Finding& f) { return f.blames; });
  REQUIRE(blamed.size() == 1);
  return blamed[0];
}

std::vector<std::int32_t> ranks(std::vector<std::int32_t> list) { return list; }

TEST_CASE("clocks are aligned by the collectives that ranks did together") {
  std::vector<Recording> recordings;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    Script script(rank, 3, rank * 100.25);
    for (std::uint64_t k = 1; k <= 9; ++k) {
      const double time = static_cast<double>(k);
      // Rank 2 is always late, which says nothing about its clock.
      script.open(time + (rank == 2 ? 0.89 : 0.1 * rank), 0, k).finish(time + 0.9);
    }
    recordings.push_back(script.beat(10));
  }
  const Analysis analysis = analyze(recordings);
  REQUIRE(analysis.ranks.size() == 3);
  CHECK(std::abs(analysis.ranks[1].clock_ahead_ns - static_cast<i64>(100'250'000'000)) < 2'000'000);
  CHECK(std::abs(analysis.ranks[2].clock_ahead_ns - static_cast<i64>(200'500'000'000)) < 2'000'000);
  REQUIRE(analysis.findings.size() == 1);
  CHECK(analysis.findings[0].kind == FindingKind::Straggler);
  CHECK(!analysis.findings[0].blames);
  CHECK(analysis.findings[0].ranks == ranks({2}));
}

TEST_CASE("a rank without a sign of life is dead; one that its peers saw exit needs no silence") {
  const auto survivor = [](std::int32_t rank) { return Script(rank, 3).open(1, 0, 1); };
  const Finding silent =
      cause(analyze(std::vector<Recording>{survivor(0).beat(9), Script(1, 3).open(1, 0, 1).beat(2), survivor(2).beat(9)}));
  CHECK(silent.kind == FindingKind::DeadRank);
  CHECK(silent.ranks == ranks({1}));
  CHECK(silent.words.find("in all_reduce #1 of group world") != std::string::npos);

  const Recording witness = survivor(0).lose(2.01, 1, LossEvidence::Exit).beat(2.1);
  const Finding seen = cause(analyze(std::vector<Recording>{witness, Script(1, 3).beat(2), survivor(2).beat(2.1)}));
  CHECK(seen.kind == FindingKind::DeadRank);
  CHECK(seen.ranks == ranks({1}));
  // The same evidence against a rank that went on beating is wrong.
  const Analysis wrong = analyze(std::vector<Recording>{witness, Script(1, 3).open(1, 0, 1).beat(2.09), survivor(2).beat(2.1)});
  CHECK(std::ranges::none_of(wrong.findings, [](const Finding& finding) { return finding.kind == FindingKind::DeadRank; }));
}

TEST_CASE("a rank of which there is no recording is named when others wait for it") {
  const Finding finding = cause(analyze(std::vector<Recording>{Script(0, 2).open(1, 0, 1).beat(9)}));
  CHECK(finding.kind == FindingKind::MissingRecording);
  CHECK(finding.ranks == ranks({1}));
}

TEST_CASE("a rank that does not come is slow at first and stuck after a minute, or at once when the operation timed out") {
  const auto run = [](double end_s, bool timed_out) {
    std::vector<Recording> recordings;
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      Script script(rank, 3);
      script.open(1, 0, 1).finish(1.1);
      if (rank != 2) script.open(2, 0, 2);
      if (rank != 2 && timed_out) script.finish(end_s - 0.1, RecordedStatus::TimedOut);
      recordings.push_back(script.beat(end_s));
    }
    return analyze(recordings);
  };
  CHECK(run(30, false).findings.empty());
  CHECK(cause(run(70, false)).kind == FindingKind::Stuck);
  CHECK(cause(run(70, false)).ranks == ranks({2}));
  CHECK(cause(run(30, true)).kind == FindingKind::Stuck);
}

TEST_CASE("ranks that wait for one another in different groups are a cycle") {
  std::vector<Recording> recordings;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    Script script(rank, 3);
    script.group(1, "a", {0, 1}).group(2, "b", {1, 2}).group(3, "c", {2, 0});
    recordings.push_back(script.open(1, static_cast<std::uint32_t>(rank) + 1, 1).beat(30));
  }
  const Finding finding = cause(analyze(recordings));
  CHECK(finding.kind == FindingKind::WaitCycle);
  CHECK(finding.ranks == ranks({0, 1, 2}));
  CHECK(finding.evidence.size() == 3);
}

TEST_CASE("in a cycle the rank that strays from what it always did is the cause") {
  std::vector<Recording> recordings;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    Script script(rank, 2);
    script.group(1, "a", {0, 1}).group(2, "b", {0, 1});
    for (std::uint64_t k = 1; k <= 4; ++k) {
      const double time = static_cast<double>(k);
      script.open(time, 1, k).finish(time + 0.1).open(time + 0.5, 2, k).finish(time + 0.6);
    }
    recordings.push_back(script.open(5, rank == 1 ? 2 : 1, 5).beat(30));
  }
  const Finding finding = cause(analyze(recordings));
  CHECK(finding.kind == FindingKind::MissingOp);
  CHECK(finding.ranks == ranks({1}));
  CHECK(finding.group == "a");
}

TEST_CASE("a link that bytes do not pass parts the ranks into two sides") {
  std::vector<Recording> recordings;
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    Script script(rank, 4);
    script.open(1, 0, 1);
    for (std::int32_t other = 0; other < 4; ++other) {
      if (other == rank) continue;
      script.traffic(other, 100, 100);
      if ((rank < 1) != (other < 1)) script.hungry(1.5, other);
    }
    recordings.push_back(script.beat(100));
  }
  const Finding finding = cause(analyze(recordings));
  CHECK(finding.kind == FindingKind::Partition);
  CHECK(finding.ranks == ranks({0}));
  CHECK(finding.words.find("rank 0 on one side and ranks 1, 2 and 3 on the other") != std::string::npos);
  CHECK(finding.evidence.size() == 3);
}

TEST_CASE("bytes that were sent and did not arrive show a broken link though only one end waits") {
  std::vector<Recording> recordings;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    Script script(rank, 3);
    script.open(1, 0, 1);
    if (rank == 0) script.hungry(1.5, 1).traffic(1, 10, 10);
    if (rank == 1) script.traffic(0, 90, 10);
    if (rank == 2) script.hungry(1.6, 0).traffic(0, 10, 10);
    recordings.push_back(script.beat(100));
  }
  const Finding finding = cause(analyze(recordings));
  CHECK(finding.kind == FindingKind::Partition);
  CHECK(finding.ranks == ranks({0, 1}));
}

TEST_CASE("a rank for which others wait inside an operation while it waits for nobody hangs there") {
  std::vector<Recording> recordings;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    Script script(rank, 3);
    script.open(1, 0, 1);
    if (rank != 1) script.hungry(1.5, rank == 0 ? 1 : 0);
    recordings.push_back(script.beat(100));
  }
  const Finding finding = cause(analyze(recordings));
  CHECK(finding.kind == FindingKind::Stuck);
  CHECK(finding.ranks == ranks({1}));
}

TEST_CASE("the rank whose operation differs from the majority's is named with both") {
  std::vector<Recording> recordings;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    Script script(rank, 3);
    script.open(1, 0, 1).finish(1.1).open(2, 0, 2, rank == 1 ? 77 : 200).finish(2.1, RecordedStatus::Mismatch);
    recordings.push_back(script.end(3, RecordingEnd::Closed));
  }
  const Finding finding = cause(analyze(recordings));
  CHECK(finding.kind == FindingKind::Mismatch);
  CHECK(finding.ranks == ranks({1}));
  CHECK(finding.words == "rank 1 issued all_reduce f32[77] sum as operation #2 of group world; the others issued all_reduce f32[200] sum");
}

TEST_CASE("a dump in PyTorch's layout has its keys, kinds and names") {
  Script script(1, 2);
  script.open(1, 0, 1).finish(1.5).open(2, 0, 2);
  const Json dump = parse_json(torch_json(script));
  CHECK(dump.at("version").text() == "2.10");
  CHECK(dump.at("pg_config").at("0").at("ranks").text() == "[0, 1]");
  CHECK(dump.at("pg_status").at("0").at("last_enqueued_collective").text() == "2");
  CHECK(dump.at("pg_status").at("0").at("last_completed_collective").text() == "1");
  REQUIRE(dump.at("entries").array().size() == 2);
  const Json& first = dump.at("entries").array()[0];
  CHECK(first.at("profiling_name").text() == "gloo:all_reduce");
  CHECK(first.at("process_group").array()[1].text() == "world");
  CHECK(first.at("collective_seq_id").integer() == 1);
  CHECK(first.at("state").text() == "completed");
  CHECK(first.at("retired").flag());
  CHECK(first.at("duration_ms").number() == doctest::Approx(500));
  CHECK(first.at("input_sizes").array()[0].array()[0].integer() == 100);
  CHECK(first.at("output_sizes").array()[0].array()[0].integer() == 100);
  CHECK(first.at("input_dtypes").array()[0].text() == "Float");
  CHECK(first.at("x").at("generation").integer() == 1);
  const Json& second = dump.at("entries").array()[1];
  CHECK(second.at("state").text() == "started");
  CHECK(second.at("time_discovered_completed_ns").is_null());
  CHECK(second.at("duration_ms").is_null());

  const Json own = parse_json(recording_json(script));
  CHECK(own.at("operations").array().size() == 2);
  CHECK(own.at("operations").array()[1].at("status").is_null());
  CHECK(recording_text(script).find("issued  all_reduce f32[100] sum #2 of group world, generation 1") != std::string::npos);
}

TEST_CASE("an analysis as JSON reads back, and one of nothing finds nothing") {
  const Analysis analysis = analyze(std::vector<Recording>{Script(0, 2).open(1, 0, 1).beat(9)});
  const Json json = parse_json(analysis_json(analysis));
  CHECK(json.at("findings").array()[0].at("kind").text() == "missing recording");
  CHECK(json.at("findings").array()[0].at("ranks").array()[0].integer() == 1);
  CHECK(json.at("ranks").array()[0].at("last_operation").text() == "all_reduce #1 of group world, started");
  CHECK(analyze({}).findings.empty());
}

}  // namespace
}  // namespace resilin::dist
