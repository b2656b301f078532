// tests/io/checkpoint_test.cpp -- checkpoints are kept, found again, and survive damage.
#include "resilin/io/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/config.h"
#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/tensor/row_major.h"

#include "tests/support/temporary_folder.h"
#include "tests/support/tensor.h"

namespace resilin {
namespace {

/// A checkpoint whose every byte depends on its step.
Checkpoint numbered(i64 step) {
  const std::uint64_t seed = static_cast<std::uint64_t>(step);
  return {step,
          {{"weight", test::random({7, 3}, DType::F32, seed)}, {"bias", test::random({5}, DType::BF16, seed + 1)}},
          cat("{\"lr\":0.", step + 1, "}")};
}

bool equal(const Checkpoint& read, const Checkpoint& written) {
  if (read.step != written.step || read.metadata != written.metadata || read.tensors.size() != written.tensors.size()) return false;
  NamedTensors sorted = written.tensors;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const Tensor &a = read.tensors[i].second, &b = sorted[i].second;
    if (read.tensors[i].first != sorted[i].first || a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
    if (bytes_of(row_major(a)) != bytes_of(row_major(b))) return false;
  }
  return true;
}

i64 latest_step(const std::string& folder) {
  const std::optional<Checkpoint> checkpoint = load_latest(folder);
  if (!checkpoint) return -1;
  CHECK(equal(*checkpoint, numbered(checkpoint->step)));
  return checkpoint->step;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Without waiting for the disk, which is not what is tested.
void overwrite(const std::string& path, std::string_view bytes) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

void flip_bit(const std::string& path, std::size_t at) {
  std::string bytes = read_file(path);
  bytes[at] = static_cast<char>(bytes[at] ^ 4);
  overwrite(path, bytes);
}

TEST_CASE("a checkpoint comes back bit for bit, strided tensors row-major") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/run/a";
  CHECK_FALSE(load_latest(path).has_value());
  Checkpoint written = numbered(12);
  const std::vector<Dim> shape = {3, 7}, strides = {1, 3};
  const Tensor weight = written.tensors[0].second;
  written.tensors.emplace_back("turned", Tensor::view(weight.storage(), DType::F32, 0, shape, strides));
  save_checkpoint(path, written);
  const std::optional<Checkpoint> read = load_latest(path);
  REQUIRE(read.has_value());
  CHECK(equal(*read, written));
  CHECK(read_file(path + "/latest") == "step-12.safetensors\n");
}

TEST_CASE("old checkpoints beyond the wanted number are removed") {
  const testing::TemporaryFolder folder;
  for (const i64 step : {1, 2, 10, 3}) save_checkpoint(folder.path(), numbered(step), 3);
  // The one just written stays, then the greatest.
  CHECK(names_in(folder.path()) ==
        std::vector<std::string>{"latest", "lock", "step-10.safetensors", "step-2.safetensors", "step-3.safetensors"});
  CHECK(latest_step(folder.path()) == 3);
  save_checkpoint(folder.path(), numbered(1), 1);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"latest", "lock", "step-1.safetensors"});
  CHECK(latest_step(folder.path()) == 1);
}

TEST_CASE("what a dead writer left is removed by the next one, and nothing else is") {
  const testing::TemporaryFolder folder;
  const std::vector<std::string> others = {"notes.tmp", "step-1.txt", "step-x.safetensors", "step-01.safetensors"};
  for (const std::string& name : others) atomic_write(folder.path() + "/" + name, "x");
  atomic_write(folder.path() + "/step-1.safetensors.77.0.tmp", "x");
  atomic_write(folder.path() + "/latest.77.1.tmp", "x");
  CHECK_FALSE(load_latest(folder.path()).has_value());
  save_checkpoint(folder.path(), numbered(2), 1);
  std::vector<std::string> expected = others;
  expected.insert(expected.end(), {"latest", "lock", "step-2.safetensors"});
  std::sort(expected.begin(), expected.end());
  CHECK(names_in(folder.path()) == expected);
  CHECK(latest_step(folder.path()) == 2);
}

TEST_CASE("without a usable name of the latest one the greatest whole step is taken") {
  const config::ScopedConfig quiet("log.level", "error");
  const testing::TemporaryFolder folder;
  const std::string latest = folder.path() + "/latest";
  for (const i64 step : {9, 10, 8}) save_checkpoint(folder.path(), numbered(step));
  CHECK(latest_step(folder.path()) == 8);
  for (const char* text : {"", "step-8.safetensors", "step-7.safetensors\n", "../x\n", "step-8.safetensors\nstep-9.safetensors\n"}) {
    atomic_write(latest, text);
    CHECK(latest_step(folder.path()) == 10);
  }
  std::filesystem::remove(latest);
  CHECK(latest_step(folder.path()) == 10);
  std::filesystem::remove(folder.path() + "/step-10.safetensors");
  CHECK(latest_step(folder.path()) == 9);
}

TEST_CASE("every flipped bit of a checkpoint is noticed") {
  const config::ScopedConfig quiet("log.level", "error");
  const testing::TemporaryFolder folder;
  for (const i64 step : {1, 2}) save_checkpoint(folder.path(), numbered(step));
  const std::string path = folder.path() + "/step-2.safetensors";
  const std::string whole = read_file(path);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    CAPTURE(at);
    flip_bit(path, at);
    CHECK(latest_step(folder.path()) == 1);
    flip_bit(path, at);
  }
  for (std::size_t size = 0; size < whole.size(); size += 13) {
    overwrite(path, std::string_view(whole).substr(0, size));
    CHECK(latest_step(folder.path()) == 1);
  }
  atomic_write(path, whole);
  CHECK(latest_step(folder.path()) == 2);
}

TEST_CASE("a checkpoint under the name of another step is not used") {
  const config::ScopedConfig quiet("log.level", "error");
  const testing::TemporaryFolder folder;
  save_checkpoint(folder.path(), numbered(1));
  atomic_write(folder.path() + "/step-5.safetensors", read_file(folder.path() + "/step-1.safetensors"));
  atomic_write(folder.path() + "/latest", "step-5.safetensors\n");
  CHECK(latest_step(folder.path()) == 1);
}

TEST_CASE("a folder of damaged checkpoints is an error and no fresh start") {
  const config::ScopedConfig quiet("log.level", "error");
  const testing::TemporaryFolder folder;
  save_checkpoint(folder.path(), numbered(1));
  const std::string path = folder.path() + "/step-1.safetensors";
  flip_bit(path, read_file(path).size() - 1);
  CHECK_THROWS_WITH_AS(load_latest(folder.path()), doctest::Contains("every checkpoint is damaged"), IoError);
  write_safetensors(path, numbered(1).tensors);
  CHECK_THROWS_WITH_AS(load_latest(folder.path()), doctest::Contains("the file is no checkpoint"), IoError);
}

TEST_CASE("wrong arguments are refused before anything is written") {
  const testing::TemporaryFolder folder;
  Checkpoint checkpoint = numbered(1);
  CHECK_THROWS_WITH_AS(save_checkpoint(folder.path(), checkpoint, 0),
                       "save_checkpoint: too few checkpoints to keep: 0; at least 1 must stay", ArgumentError);
  checkpoint.metadata = std::string("{");
  CHECK_THROWS_WITH_AS(save_checkpoint(folder.path(), checkpoint), doctest::Contains("in the metadata of save_checkpoint"), ArgumentError);
  checkpoint = numbered(1);
  for (const i64 step : {i64{-1}, i64{1'000'000'000'000'000'000}}) {
    checkpoint.step = step;
    CHECK_THROWS_WITH_AS(save_checkpoint(folder.path(), checkpoint), doctest::Contains("the step is out of range"), ArgumentError);
  }
  CHECK(names_in(folder.path()).empty());
  atomic_write(folder.path() + "/file", "x");
  CHECK_THROWS_AS(save_checkpoint(folder.path() + "/file", numbered(1)), IoError);
  CHECK_THROWS_AS(load_latest(folder.path() + "/file"), IoError);
}

}  // namespace
}  // namespace resilin
