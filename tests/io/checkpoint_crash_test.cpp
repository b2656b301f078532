// tests/io/checkpoint_crash_test.cpp -- whenever a writer of checkpoints dies, a whole checkpoint is found.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/file.h"
#include "resilin/io/checkpoint.h"
#include "resilin/tensor/generator.h"
#include "resilin/tensor/row_major.h"

#include "tests/support/child.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensor.h"

namespace resilin {
namespace {

Checkpoint numbered(i64 step) {
  const std::uint64_t seed = static_cast<std::uint64_t>(step);
  return {step,
          {{"a", test::random({33, 7}, DType::F32, seed)}, {"b", test::random({50}, DType::BF16, seed + 1)}},
          cat("{\"step\":", step, "}")};
}

/// The step of the folder's latest checkpoint, which must be that step's bit for bit; -1 when there is none.
i64 whole_step(const std::string& folder) {
  const std::optional<Checkpoint> read = load_latest(folder);
  if (!read) return -1;
  const Checkpoint expected = numbered(read->step);
  REQUIRE(read->tensors.size() == expected.tensors.size());
  CHECK(read->metadata == expected.metadata);
  for (std::size_t i = 0; i < expected.tensors.size(); ++i) {
    CHECK(read->tensors[i].first == expected.tensors[i].first);
    CHECK(read->tensors[i].second.shape() == expected.tensors[i].second.shape());
    CHECK(bytes_of(read->tensors[i].second) == bytes_of(expected.tensors[i].second));
  }
  return read->step;
}

/// Writes the checkpoint in a child that dies where a file would grow beyond the limit; its exit status, or -signal.
int save_below(const std::string& folder, const Checkpoint& checkpoint, std::size_t limit_bytes) {
  return testing::run_in_child([&] {
    const rlimit none{0, 0};
    const rlimit limit{limit_bytes, limit_bytes};
    if (setrlimit(RLIMIT_CORE, &none) != 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0) return 97;
    signal(SIGXFSZ, SIG_DFL);
    save_checkpoint(folder, checkpoint, 2);
    return 0;
  });
}

/// Writes one checkpoint after another and tells the step of each that is finished.
[[noreturn]] void save_until_killed(const std::string& folder, i64 step, int told) {
  alarm(20);
  try {
    while (true) {
      save_checkpoint(folder, numbered(step), 2);
      if (write(told, &step, sizeof step) != sizeof step) _exit(1);
      ++step;
    }
  } catch (const std::exception&) {
    _exit(2);
  }
}

i64 leftovers(const std::string& folder) {
  const std::filesystem::directory_iterator begin(folder);
  return std::count_if(begin, std::filesystem::directory_iterator(), [](const auto& entry) { return entry.path().extension() == ".tmp"; });
}

TEST_CASE("a writer that dies at any byte leaves the checkpoint before it whole") {
  const testing::TemporaryFolder folder;
  REQUIRE(save_below(folder.path(), numbered(1), 1 << 20) == 0);
  const std::size_t size = read_file(folder.path() + "/step-1.safetensors").size();
  i64 step = 1;
  for (std::uint64_t round = 0; round < 200; ++round) {
    const std::size_t limit = philox4x32(7, round, 0).word[0] % (size + size / 20);
    CAPTURE(limit);
    const std::string path = cat(folder.path(), "/step-", step + 1, ".safetensors");
    const int status = save_below(folder.path(), numbered(step + 1), limit);
    // Steps have more digits later on: a header may be 8 bytes longer.
    if (limit >= size + 8) CHECK(status == 0);
    if (limit < size) CHECK(status == -SIGXFSZ);
    if (status == 0) ++step;
    CHECK(whole_step(folder.path()) == step);
    CHECK(std::filesystem::exists(path) == (status == 0));
    CHECK(leftovers(folder.path()) == (status == 0 ? 0 : 1));
  }
  CHECK(step > 1);
  save_checkpoint(folder.path(), numbered(step + 1));
  CHECK(leftovers(folder.path()) == 0);
}

TEST_CASE("a first writer that dies leaves no checkpoint") {
  const testing::TemporaryFolder folder;
  for (const std::size_t limit : {0, 1, 8, 100, 900}) {
    CHECK(save_below(folder.path(), numbered(1), limit) == -SIGXFSZ);
    CHECK(whole_step(folder.path()) == -1);
  }
  CHECK(save_below(folder.path(), numbered(1), 1 << 20) == 0);
  CHECK(whole_step(folder.path()) == 1);
}

TEST_CASE("a writer that is killed at any moment leaves its last checkpoint or the one it was writing") {
  const testing::TemporaryFolder folder;
  i64 step = 0;
  for (std::uint64_t round = 0; round < 40; ++round) {
    int told[2];
    REQUIRE(pipe(told) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);  // -1 would be every process to kill
    if (child == 0) save_until_killed(folder.path(), step + 1, told[1]);
    close(told[1]);
    i64 finished = 0;
    REQUIRE(read(told[0], &finished, sizeof finished) == sizeof finished);
    usleep(philox4x32(11, round, 0).word[0] % 20'000);
    kill(child, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    for (i64 next = 0; read(told[0], &next, sizeof next) == sizeof next;) finished = next;
    close(told[0]);
    step = whole_step(folder.path());
    CHECK((step == finished || step == finished + 1));
  }
}

}  // namespace
}  // namespace resilin
