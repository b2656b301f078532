// tests/dist/recorder/recorder_test.cpp -- recordings: what is written is read, in order, from several threads, torn, hostile or after a kill.
#include "resilin/dist/recorder/recorder.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/text.h"
#include "resilin/dist/recorder/format.h"
#include "resilin/dist/recorder/recording.h"

#include "tests/support/child.h"
#include "tests/support/temporary_folder.h"

namespace resilin::dist {
namespace {

RecorderOptions options_in(const std::string& folder, std::size_t records = 64) {
  RecorderOptions options;
  options.folder = folder + "/recordings";
  options.job = "job";
  options.host = "host";
  options.backend = "fake";
  options.rank = 1;
  options.world = 4;
  options.instance = 0xabc;
  options.wall_now = std::chrono::seconds(1'000'000);
  options.records = records;
  return options;
}

IssuedWork all_reduce(std::uint64_t sequence) {
  IssuedWork work;
  work.op = CollectiveKind::AllReduce;
  work.reduce = ReduceOp::Sum;
  work.generation = 3;
  work.sequence = sequence;
  work.signature = 77;
  work.bytes = 4 * sequence;
  work.input_elements = sequence;
  return work;
}

Recording reread(const Recorder& recorder) { return read_recording(read_file(recorder.path()), recorder.path()); }

TEST_CASE("a recording reads back what was recorded, with the rank's identity") {
  const testing::TemporaryFolder folder;
  Recorder recorder(options_in(folder.path()), machine_clock());
  struct stat status;
  REQUIRE(stat(recorder.path().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);

  recorder.define_group({5, 3, "world", "all ranks", {0, 1, 2, 3}});
  recorder.begin_step(9);
  IssuedWork work = all_reduce(12);
  const std::vector<i64> dims = {2, 3, 5, 7, 11};
  work.dims = dims;
  work.group = 5;
  const WorkMark mark = recorder.issue(work);
  recorder.start(mark);
  recorder.begin_wait(mark);
  recorder.begin_peer_wait(2, mark);
  recorder.count_received(0, 100);
  recorder.count_sent(3, 50);
  recorder.lose_peer(2, LossEvidence::Engine, 3);
  recorder.finish(mark, RecordedStatus::PeerLost);
  recorder.end_wait(mark);
  recorder.revoke(3, 1, 42);
  recorder.change_membership({MembershipPhase::Promised, 4, 42, 2});
  recorder.beat();

  const Recording recording = reread(recorder);
  CHECK(recording.rank == 1);
  CHECK(recording.world == 4);
  CHECK(recording.instance == 0xabc);
  CHECK(recording.process == getpid());
  CHECK(recording.job == "job");
  CHECK(recording.backend == "fake");
  CHECK(recording.step == 9);
  CHECK(recording.beat_ns >= recording.records.back().time_ns);
  CHECK(recording.wall_ns(recording.opened_ns) == 1'000'000'000'000'000u);
  CHECK(recording.ending == RecordingEnd::Open);
  CHECK(recording.torn == 0);

  const RecordedGroup* const group = recording.find_group(5, 3);
  REQUIRE(group != nullptr);
  CHECK(group->name == "world");
  CHECK(group->members == std::vector<std::int32_t>{0, 1, 2, 3});

  std::string kinds;
  for (const Record& record : recording.records) kinds += cat(name_of(record.kind), " ");
  CHECK(kinds == "step issued started wait_began peer_lost finished wait_ended revoked membership ");
  const Record& issued = recording.records[1];
  CHECK(issued.sequence == 12);
  CHECK(issued.signature == 77);
  CHECK(issued.axes == 5);
  CHECK(issued.dims == std::array<std::uint32_t, 4>{2, 3, 5, 77});
  CHECK(recording.records[5].status() == RecordedStatus::PeerLost);
  CHECK(recording.records[8].phase() == MembershipPhase::Promised);
  REQUIRE(recording.peers.size() == 4);
  CHECK(recording.peers[2].waits == 1);
  CHECK(recording.peers[2].waiting_work == mark.work);
  CHECK(recording.peers[0].received_bytes == 100);
  CHECK(recording.peers[3].sent_bytes == 50);
}

TEST_CASE("a full ring keeps the newest records and says how many it lost") {
  const testing::TemporaryFolder folder;
  Recorder recorder(options_in(folder.path(), 16), machine_clock());
  for (std::uint64_t i = 1; i <= 100; ++i) recorder.issue(all_reduce(i));
  const Recording recording = reread(recorder);
  REQUIRE(recording.records.size() == 16);
  CHECK(recording.overwritten == 84);
  for (std::uint64_t i = 0; i < 16; ++i) CHECK(recording.records[i].sequence == 85 + i);
}

TEST_CASE("a reset begins anew, and what is left of earlier Works is ignored") {
  const testing::TemporaryFolder folder;
  Recorder recorder(options_in(folder.path()), machine_clock());
  const WorkMark before = recorder.issue(all_reduce(1));
  recorder.begin_peer_wait(0, before);
  recorder.reset();
  recorder.finish(before, RecordedStatus::Success);
  recorder.end_peer_wait(0);
  const WorkMark after = recorder.issue(all_reduce(2));
  CHECK(after.work > before.work);
  const Recording recording = reread(recorder);
  REQUIRE(recording.records.size() == 1);
  CHECK(recording.records[0].sequence == 2);
  CHECK(recording.peers[0].waits == 0);
  CHECK(recording.epoch == 1);
}

TEST_CASE("threads record at once while others read, and no record is lost or mixed up") {
  const testing::TemporaryFolder folder;
  constexpr std::uint64_t kEach = 2000;
  Recorder recorder(options_in(folder.path(), 4 * kEach), machine_clock());
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done.load()) {
      const Recording recording = read_recording(recorder.bytes(), "live");
      for (const Record& record : recording.records) REQUIRE(record.value == 4 * record.sequence);
    }
  });
  std::vector<std::thread> writers;
  for (std::uint64_t t = 0; t < 4; ++t) {
    writers.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kEach; ++i) recorder.issue(all_reduce(t * kEach + i));
    });
  }
  for (std::thread& writer : writers) writer.join();
  done.store(true);
  reader.join();
  const Recording recording = reread(recorder);
  std::set<std::uint64_t> sequences, works;
  for (const Record& record : recording.records) {
    sequences.insert(record.sequence);
    works.insert(record.work);
  }
  CHECK(sequences.size() == 4 * kEach);
  CHECK(works.size() == 4 * kEach);
  CHECK(recording.torn == 0);
}

TEST_CASE("a record that was half written is left out, the others stay") {
  const testing::TemporaryFolder folder;
  Recorder recorder(options_in(folder.path(), 16), machine_clock());
  for (std::uint64_t i = 1; i <= 20; ++i) recorder.issue(all_reduce(i));
  std::string bytes = recorder.bytes();
  // The record of ticket 21 goes to slot 4: its first words are there, the rest is that of ticket 5.
  const std::size_t slot = bytes.size() - 16 * sizeof(StoredRecord) + 4 * sizeof(StoredRecord);
  const std::uint64_t ticket = 21;
  std::memcpy(bytes.data() + slot + 8, &ticket, sizeof ticket);
  const Recording recording = read_recording(bytes, "torn");
  CHECK(recording.torn == 1);
  REQUIRE(recording.records.size() == 15);
  CHECK(recording.records.front().sequence == 6);
  CHECK(recording.records.back().sequence == 20);
}

TEST_CASE("bytes that are no recording are typed errors, whatever they are") {
  const testing::TemporaryFolder folder;
  Recorder recorder(options_in(folder.path(), 8), machine_clock());
  recorder.define_group({5, 3, "world", "all ranks", {0, 1, 2, 3}});
  for (std::uint64_t i = 1; i <= 20; ++i) recorder.issue(all_reduce(i));
  const std::string good = recorder.bytes();
  CHECK_THROWS_AS(read_recording("", "empty"), DistError);
  for (std::size_t size = 0; size < good.size(); size += 7) CHECK_THROWS_AS(read_recording(good.substr(0, size), "cut"), DistError);

  std::string other = good;
  other[8] = 9;
  CHECK_THROWS_WITH_AS(read_recording(other, "f"), "recorder: f: written by version 9 of the format; this program reads version 1",
                       VersionError);
  std::mt19937_64 random(7);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = good;
    for (std::uint64_t flips = random() % 8 + 1; flips > 0; --flips) damaged[random() % damaged.size()] = static_cast<char>(random());
    try {
      const Recording recording = read_recording(damaged, "damaged");
      CHECK(recording.records.size() <= 8);
      for (const Record& record : recording.records) CHECK(record.value == 4 * record.sequence);
    } catch (const DistError&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
  // A header that is whole but says too much.
  FileHeader header;
  std::memcpy(&header, good.data(), sizeof header);
  header.records = std::uint64_t{1} << 60;
  std::vector<std::uint64_t> words(sizeof header / 8);
  std::memcpy(words.data(), &header, sizeof header);
  header.checksum = words_checksum(words.data(), words.size() - 1, kRecorderVersion);
  std::string hostile = good;
  std::memcpy(hostile.data(), &header, sizeof header);
  CHECK_THROWS_AS(read_recording(hostile, "hostile"), DistError);
}

TEST_CASE("a definition of a group takes the place of the oldest of the lowest generation") {
  const testing::TemporaryFolder folder;
  RecorderOptions options = options_in(folder.path());
  options.group_slots = 3;
  Recorder recorder(options, machine_clock());
  recorder.define_group({1, 2, "a", "", {0, 1}});
  recorder.define_group({2, 1, "b", "", {0, 1}});
  recorder.define_group({3, 2, "c", "", {0, 1}});
  recorder.define_group({4, 2, "d", "", {0, 1}});
  recorder.define_group({5, 2, "e", "", {0, 1}});
  std::string names;
  for (const RecordedGroup& group : reread(recorder).groups) names += group.name;
  CHECK(names == "cde");
  CHECK_THROWS_AS(recorder.define_group({6, 2, "f", "", {0, 1, 2, 3, 4}}), ArgumentError);
}

TEST_CASE("a recording survives the kill of its process, and later goes with the dead") {
  const testing::TemporaryFolder folder;
  const RecorderOptions options = options_in(folder.path());
  const int status = testing::run_in_child([&] {
    Recorder recorder(options, machine_clock());
    for (std::uint64_t i = 1; i <= 5; ++i) recorder.issue(all_reduce(i));
    std::ofstream(options.folder + "/rank-7.0.fr.new") << "killed while it made one";
    return raise(SIGKILL);
  });
  CHECK(status == -SIGKILL);
  const Recordings found = read_recordings(options.folder);
  REQUIRE(found.recordings.size() == 1);
  CHECK(found.recordings[0].records.size() == 5);
  CHECK(found.recordings[0].ending == RecordingEnd::Open);

  RecorderOptions living = options;
  living.instance = 0xdef;
  Recorder recorder(living, machine_clock());
  CHECK(remove_dead_recordings(options.folder, std::chrono::seconds(999'999)) == 0);  // the unfinished one is made just now
  const std::filesystem::path unfinished = options.folder + "/rank-7.0.fr.new";
  std::filesystem::last_write_time(unfinished, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(2));
  CHECK(remove_dead_recordings(options.folder, std::chrono::seconds(999'999)) == 1);
  CHECK_FALSE(std::filesystem::exists(unfinished));
  CHECK(read_recordings(options.folder).recordings.size() == 2);
  CHECK(remove_dead_recordings(options.folder, std::chrono::seconds(2'000'000)) ==
        0);  // it was written later, says the system, and is not read
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(options.folder))
    std::filesystem::last_write_time(entry.path(), std::filesystem::file_time_type::clock::now() - std::chrono::years(100));
  CHECK(remove_dead_recordings(options.folder, std::chrono::seconds(2'000'000)) == 1);
  REQUIRE(read_recordings(options.folder).recordings.size() == 1);
  CHECK(read_recordings(options.folder).recordings[0].instance == 0xdef);
  CHECK(remove_dead_recordings(folder.path() + "/nothing", std::chrono::seconds(1)) == 0);
}

TEST_CASE("a forked child records nothing, and its end is not the recording's") {
  const testing::TemporaryFolder folder;
  std::optional<Recorder> recorder(std::in_place, options_in(folder.path()), machine_clock());
  recorder->issue(all_reduce(1));
  const int status = testing::run_in_child([&] {
    const WorkMark mark = recorder->issue(all_reduce(2));
    recorder->begin_peer_wait(0, mark);
    recorder->beat();
    recorder.reset();
    return mark.work == 0 ? 0 : 1;
  });
  CHECK(status == 0);
  CHECK(reread(*recorder).records.size() == 1);
  CHECK(reread(*recorder).ending == RecordingEnd::Open);
  recorder->leave();
  CHECK(reread(*recorder).ending == RecordingEnd::Left);
}

std::atomic<const Recorder*> dumped_by_signal{nullptr};
std::string dump_path;

TEST_CASE("a signal handler can save a recording") {
  const testing::TemporaryFolder folder;
  Recorder recorder(options_in(folder.path()), machine_clock());
  recorder.issue(all_reduce(1));
  dump_path = folder.path() + "/dump.fr";
  dumped_by_signal.store(&recorder);
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) { dumped_by_signal.load()->save(dump_path.c_str()); };
  REQUIRE(sigaction(SIGUSR1, &action, &before) == 0);
  raise(SIGUSR1);
  sigaction(SIGUSR1, &before, nullptr);
  CHECK(read_recording(read_file(dump_path), dump_path).records.size() == 1);
  CHECK(!recorder.save(dump_path.c_str()));  // never over another file
}

TEST_CASE("a folder's unreadable files are named beside its recordings") {
  const testing::TemporaryFolder folder;
  Recorder recorder(options_in(folder.path()), machine_clock());
  std::ofstream(options_in(folder.path()).folder + "/rank-0.bad.fr") << "nonsense that is long enough";
  const Recordings found = read_recordings(options_in(folder.path()).folder);
  CHECK(found.recordings.size() == 1);
  REQUIRE(found.unreadable.size() == 1);
  CHECK(found.unreadable[0].find("no recorder file") != std::string::npos);
  CHECK_THROWS_AS(read_recordings(folder.path() + "/missing"), IoError);
}

}  // namespace
}  // namespace resilin::dist
