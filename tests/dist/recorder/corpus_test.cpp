// tests/dist/recorder/corpus_test.cpp -- how often the analysis of labelled faulty runs is right, and of ranks that were really killed.
#include "tests/dist/recorder/corpus.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <random>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/text.h"
#include "resilin/dist/recorder/recorder.h"

#include "tests/support/temporary_folder.h"

namespace resilin::dist {
namespace {

using testing::Fault;
using testing::Label;

struct Score {
  int right = 0;
  int runs = 0;
  int stragglers = 0;
};

Score analyze_runs(Fault fault, std::uint64_t count) {
  Score score;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    const resilin::testing::TemporaryFolder folder;
    const Label label = testing::record_run(fault, seed, folder.path());
    const Recordings found = read_recordings(folder.path());
    CHECK(found.unreadable.empty());
    const Analysis analysis = analyze(found.recordings);
    ++score.runs;
    if (testing::names_straggler(label, analysis)) ++score.stragglers;
    if (testing::is_right(label, analysis))
      ++score.right;
    else
      MESSAGE("fault ", static_cast<int>(fault), ", seed ", seed, ": ", label.words, "\n", analysis_text(analysis));
  }
  return score;
}

TEST_CASE("nine of ten labelled faults are named with their rank, and no healthy rank is blamed") {
  Score all;
  for (const Fault fault : {Fault::Kill, Fault::Skip, Fault::Extra, Fault::Mismatch, Fault::Stuck}) {
    const Score score = analyze_runs(fault, 14);
    CHECK_MESSAGE(score.right * 10 >= score.runs * 8, "fault ", static_cast<int>(fault), ": ", score.right, " of ", score.runs);
    all.right += score.right;
    all.runs += score.runs;
  }
  const Score healthy = analyze_runs(Fault::HealthySlow, 20);
  CHECK(healthy.right == healthy.runs);
  CHECK(healthy.stragglers * 10 >= healthy.runs * 8);
  all.right += healthy.right;
  all.runs += healthy.runs;
  MESSAGE(all.right, " of ", all.runs, " runs are told right");
  CHECK(all.runs >= 60);
  CHECK(all.right * 10 >= all.runs * 9);
}

constexpr std::int32_t kRanks = 4;

/// What ranks of different processes share: how far each has come, and that the end has come.
struct Meeting {
  std::array<std::atomic<std::uint64_t>, kRanks> arrived = {};
  std::atomic<bool> over{false};
};

class SharedMeeting {
 public:
  SharedMeeting() {
    void* const memory = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    meeting_ = new (memory) Meeting;
  }
  ~SharedMeeting() { munmap(meeting_, sizeof(Meeting)); }
  SharedMeeting(const SharedMeeting&) = delete;
  SharedMeeting& operator=(const SharedMeeting&) = delete;
  Meeting& operator*() const { return *meeting_; }

 private:
  Meeting* meeting_;
};

/// One rank: meets the others again and again, and records it, until it is killed or the end has come.
void meet(std::int32_t number, const std::string& folder, Meeting& meeting) {
  RecorderOptions options;
  options.folder = folder;
  options.host = "host";
  options.rank = number;
  options.world = kRanks;
  options.instance = 1000u + static_cast<std::uint64_t>(number);
  options.clock_domain = 7;
  options.beat_interval = std::chrono::milliseconds(20);
  options.records = 256;
  Recorder recorder(options, machine_clock());
  recorder.define_group({0, 1, "world", "", {0, 1, 2, 3}});
  for (std::uint64_t sequence = 1;; ++sequence) {
    IssuedWork work;
    work.op = CollectiveKind::AllReduce;
    work.generation = 1;
    work.sequence = sequence;
    work.signature = 5;
    const WorkMark mark = recorder.issue(work);
    recorder.start(mark);
    recorder.begin_wait(mark);
    meeting.arrived[static_cast<std::size_t>(number)].store(sequence);
    for (const std::atomic<std::uint64_t>& other : meeting.arrived) {
      while (other.load() < sequence) {
        recorder.beat();
        if (meeting.over.load()) _exit(0);
        usleep(100);
      }
    }
    recorder.finish(mark, RecordedStatus::Success);
    recorder.end_wait(mark);
  }
}

pid_t start_rank(std::int32_t number, const std::string& folder, Meeting& meeting) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(60);
  try {
    meet(number, folder, meeting);
  } catch (const std::exception&) {
    _exit(1);
  }
  _exit(2);
}

/// All ranks have come so far; false when that takes a minute.
bool all_arrived(const Meeting& meeting, std::uint64_t sequence) {
  for (int round = 0; round < 60'000; ++round) {
    if (std::ranges::all_of(meeting.arrived, [&](const std::atomic<std::uint64_t>& rank) { return rank.load() >= sequence; })) return true;
    usleep(1000);
  }
  return false;
}

TEST_CASE("a rank that is killed in the middle of recording is named from its own recording and the others'") {
  std::mt19937_64 random(std::random_device{}());
  for (int round = 0; round < 4; ++round) {
    const resilin::testing::TemporaryFolder folder;
    const SharedMeeting shared;
    std::vector<pid_t> ranks;
    for (std::int32_t number = 0; number < kRanks; ++number) ranks.push_back(start_rank(number, folder.path(), *shared));
    const bool began = all_arrived(*shared, 5);
    const std::size_t victim = random() % kRanks;
    const useconds_t delay_us = static_cast<useconds_t>(random() % 20'000);
    usleep(delay_us);
    kill(ranks[victim], SIGKILL);
    usleep(400'000);
    (*shared).over.store(true);
    for (std::size_t number = 0; number < ranks.size(); ++number) {
      int status = 0;
      REQUIRE(waitpid(ranks[number], &status, 0) == ranks[number]);
      if (number == victim)
        CHECK(WIFSIGNALED(status));
      else
        CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    }
    REQUIRE(began);
    const Recordings found = read_recordings(folder.path());
    REQUIRE(found.recordings.size() == kRanks);
    CHECK(!found.recordings[victim].records.empty());
    CHECK(found.recordings[victim].torn <= 1);
    AnalyzeOptions options;
    options.silent_floor_ns = 100'000'000;
    const Analysis analysis = analyze(found.recordings, options);
    INFO("rank ", victim, " killed after ", delay_us, " us\n", analysis_text(analysis));
    REQUIRE(!analysis.findings.empty());
    CHECK(analysis.findings[0].kind == FindingKind::DeadRank);
    CHECK(analysis.findings[0].ranks == std::vector<std::int32_t>{static_cast<std::int32_t>(victim)});
  }
}

}  // namespace
}  // namespace resilin::dist
