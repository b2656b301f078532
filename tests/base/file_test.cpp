// tests/base/file_test.cpp -- whole files, replacement at once, folders and locks.
#include "resilin/base/file.h"

#include <atomic>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

#include "tests/support/child.h"
#include "tests/support/temporary_folder.h"

namespace resilin {
namespace {

std::size_t entries(const std::string& folder) {
  std::size_t count = 0;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder)) count += entry.exists() ? 1 : 0;
  return count;
}

mode_t mode_of(const std::string& path) {
  struct stat status;
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

TEST_CASE("a file reads back what was written, whatever its size and bytes") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/file";
  for (const std::size_t size : {0, 1, 4095, 4096, 4097, 100'000}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7);
    atomic_write(path, bytes);
    CHECK(read_file(path) == bytes);
    const MappedFile mapped(path);
    REQUIRE(mapped.bytes().size() == size);
    CHECK(std::string_view(reinterpret_cast<const char*>(mapped.bytes().data()), size) == bytes);
  }
  CHECK(entries(folder.path()) == 1);
  CHECK(mode_of(path) == 0600);
  CHECK(!read_file("/proc/self/status").empty());
}

TEST_CASE("a mapping can be moved and outlives the name of its file") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/file";
  atomic_write(path, "abc");
  MappedFile first(path);
  MappedFile second = std::move(first);
  CHECK(first.bytes().empty());
  std::filesystem::remove(path);
  CHECK(second.bytes()[2] == std::byte{'c'});
}

TEST_CASE("pieces are joined in the file") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/file";
  const std::string long_piece(100'000, 'x');
  const std::string_view pieces[] = {"ab", "", long_piece, "c"};
  atomic_write(path, pieces);
  CHECK(read_file(path) == "ab" + long_piece + "c");
  atomic_write(path, std::span<const std::string_view>());
  CHECK(read_file(path).empty());
}

TEST_CASE("writing into a copy-on-write mapping changes neither the file nor another mapping") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/file";
  atomic_write(path, std::string(10'000, 'a'));
  MappedFile mine(path, MapAccess::CopyOnWrite);
  const MappedFile other(path);
  for (std::byte& byte : mine.writable_bytes()) byte = std::byte{'b'};
  CHECK(mine.bytes()[9'999] == std::byte{'b'});
  CHECK(other.bytes()[9'999] == std::byte{'a'});
  CHECK(read_file(path) == std::string(10'000, 'a'));
}

TEST_CASE("readers see a whole old or a whole new file") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/file";
  atomic_write(path, std::string(5000, 'a'));
  std::atomic<bool> stop{false};
  std::atomic<int> torn{0};
  std::thread reader([&] {
    while (!stop) {
      const std::string bytes = read_file(path);
      if (bytes.size() != 5000 || bytes.find_first_not_of(bytes[0]) != std::string::npos) ++torn;
    }
  });
  for (int i = 0; i < 50; ++i) atomic_write(path, std::string(5000, static_cast<char>('a' + i % 26)));
  stop = true;
  reader.join();
  CHECK(torn == 0);
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("failures name the path and the reason and leave nothing behind") {
  const testing::TemporaryFolder folder;
  const std::string missing = folder.path() + "/no/file";
  const auto message_of = [](auto&& action) -> std::string {
    try {
      action();
    } catch (const IoError& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK(message_of([&] { read_file(missing); }) == "read_file: No such file or directory: " + missing + "; the path must be accessible");
  CHECK(message_of([&] { MappedFile mapped(missing); }).starts_with("map_file: No such file"));
  CHECK(message_of([&] { atomic_write(missing, "x"); }).starts_with("atomic_write: No such file"));
  CHECK(message_of([&] { read_file(folder.path()); }).find("directory") != std::string::npos);
  CHECK(message_of([&] { atomic_write(folder.path(), "x"); }) != "no error");
  CHECK(entries(folder.path()) == 0);
}

TEST_CASE("folders are made with their parents for the owner only") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/a/b/c";
  ensure_directory(path);
  ensure_directory(path);
  ensure_directory(path + "/d/");
  CHECK(mode_of(folder.path() + "/a") == 0700);
  CHECK(mode_of(path) == 0700);
  CHECK(std::filesystem::is_directory(path + "/d"));
  atomic_write(folder.path() + "/file", "x");
  CHECK_THROWS_AS(ensure_directory(folder.path() + "/file"), IoError);
  CHECK_THROWS_AS(ensure_directory(folder.path() + "/file/sub"), IoError);
}

TEST_CASE("a lock keeps others out, between processes too, until it is dropped or its process dies") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  const auto free_for_child = [&] { return testing::run_in_child([&] { return FileLock::try_lock(path).has_value() ? 1 : 0; }); };
  {
    const FileLock lock(path);
    CHECK_FALSE(FileLock::try_lock(path).has_value());
    CHECK(free_for_child() == 0);
  }
  CHECK(free_for_child() == 1);
  testing::run_in_child([&] {
    FileLock lock(path);
    _exit(0);
    return 0;
  });
  std::optional<FileLock> lock = FileLock::try_lock(path);
  REQUIRE(lock.has_value());
  const FileLock moved = std::move(*lock);
  lock.reset();
  CHECK(free_for_child() == 0);
}

TEST_CASE("the code knows its folder") { CHECK(std::filesystem::exists(code_folder() + "/base_test")); }

TEST_CASE("a plug-in lies beside the code, and a missing one is looked for there") {
  CHECK(plugin_path("base_test") == code_folder() + "/base_test");
  CHECK(plugin_path("no_such_plugin.so") == code_folder() + "/no_such_plugin.so");
}

}  // namespace
}  // namespace resilin
