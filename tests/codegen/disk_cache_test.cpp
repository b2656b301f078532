// tests/codegen/disk_cache_test.cpp -- the cache folder when all is well, and when it is not.
#include "resilin/codegen/disk_cache.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/config.h"
#include "resilin/base/file.h"
#include "resilin/codegen/pack.h"

#include "tests/support/child.h"
#include "tests/support/temporary_folder.h"

namespace resilin {
namespace {

namespace fs = std::filesystem;
using testing::run_in_child;
using testing::TemporaryFolder;

KernelKey key_of(const std::string& text) { return {Isa::Avx2, "+avx2", text}; }

std::string image_of(const std::string& text, std::uint8_t code = 0xc3) {
  return make_image(key_of(text), {std::vector<std::byte>(100, static_cast<std::byte>(code)), {0}});
}

std::string entry_path(const std::string& folder, const std::string& text) { return folder + "/" + key_of(text).file_name(); }

void put(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

struct Mode {
  Mode(const std::string& changed, mode_t mode) : path(changed) { REQUIRE(chmod(path.c_str(), mode) == 0); }
  ~Mode() { chmod(path.c_str(), 0700); }
  std::string path;
};

TEST_CASE("what is written is read back, by its own key only") {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/a/b";
  CHECK(read_cached(folder, key_of("x")).image.empty());
  CHECK(!read_cached(folder, key_of("x")).refused);
  REQUIRE(write_cached(folder, key_of("x"), image_of("x")));
  CHECK(read_cached(folder, key_of("x")).image == image_of("x"));
  CHECK(read_cached(folder, key_of("y")).image.empty());
  struct stat status;
  REQUIRE(stat(folder.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  REQUIRE(stat(entry_path(folder, "x").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  REQUIRE(write_cached(folder, key_of("x"), image_of("x", 0x90)));
  CHECK(read_cached(folder, key_of("x")).image == image_of("x", 0x90));
  CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 1);
}

TEST_CASE("damaged, truncated, foreign and misnamed entries are refused and can be replaced") {
  const TemporaryFolder folder;
  const std::string path = entry_path(folder.path(), "x");
  const std::string good = image_of("x");
  const auto refused = [&] {
    const CacheAnswer answer = read_cached(folder.path(), key_of("x"));
    return answer.refused && answer.image.empty();
  };
  for (const std::string& bad :
       {std::string(), good.substr(0, 50), good.substr(0, good.size() - 1), good + "x", image_of("y"), std::string(5000, 'q')}) {
    put(path, bad);
    chmod(path.c_str(), 0600);
    CHECK(refused());
  }
  put(path, good);
  chmod(path.c_str(), 0666);
  CHECK(refused());  // anybody may have written it
  chmod(path.c_str(), 0600);
  CHECK(!refused());
  fs::remove(path);
  put(folder.path() + "/elsewhere", good);
  fs::create_symlink(folder.path() + "/elsewhere", path);
  CHECK(refused());
  fs::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(refused());
  fs::remove(path);
  fs::create_directory(path);
  CHECK(refused());
  CHECK(!write_cached(folder.path(), key_of("x"), good));
  fs::remove(path);
  REQUIRE(write_cached(folder.path(), key_of("x"), good));
  CHECK(!refused());
  if (geteuid() == 0) {
    REQUIRE(chown(path.c_str(), 12345, 12345) == 0);
    CHECK(refused());
  }
}

TEST_CASE("a folder that others own or may write to is never used") {
  const TemporaryFolder folder;
  REQUIRE(write_cached(folder.path(), key_of("x"), image_of("x")));
  for (const mode_t mode : {0770, 0707, 0777}) {
    const Mode open(folder.path(), mode);
    CHECK(read_cached(folder.path(), key_of("x")).image.empty());
    CHECK(!write_cached(folder.path(), key_of("y"), image_of("y")));
  }
  CHECK(!read_cached(folder.path(), key_of("x")).image.empty());
  if (geteuid() != 0) return;
  REQUIRE(chown(folder.path().c_str(), 12345, 12345) == 0);
  CHECK(read_cached(folder.path(), key_of("x")).image.empty());
  CHECK(!write_cached(folder.path(), key_of("y"), image_of("y")));
}

TEST_CASE("a folder that cannot be made or written stores nothing and does no harm") {
  const TemporaryFolder folder;
  put(folder.path() + "/file", "x");
  CHECK(!write_cached(folder.path() + "/file/below", key_of("x"), image_of("x")));
  CHECK(read_cached(folder.path() + "/file/below", key_of("x")).image.empty());
  CHECK(!write_cached("/proc/self/no", key_of("x"), image_of("x")));
  // Another user, to whom a read-only folder is read-only, unlike to root.
  const std::string own = folder.path() + "/own";
  REQUIRE(chmod(folder.path().c_str(), 0711) == 0);
  fs::create_directory(own);
  const auto as_user = [&] {
    if (geteuid() == 0 && (chown(own.c_str(), 12345, 12345) != 0 || seteuid(12345) != 0)) return 1;
    if (chmod(own.c_str(), 0500) != 0) return 2;
    if (write_cached(own, key_of("x"), image_of("x"))) return 3;
    return fs::is_empty(own) ? 0 : 4;
  };
  CHECK(run_in_child(as_user) == 0);
}

TEST_CASE("a full disk stores nothing and leaves no rest") {
  const TemporaryFolder folder;
  const auto on_full_disk = [&] {
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR) return 1;
    const rlimit limit = {100, 100};  // the limit of file sizes fails as a full disk does
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    if (write_cached(folder.path(), key_of("x"), image_of("x"))) return 3;
    return fs::is_empty(folder.path()) ? 0 : 4;
  };
  CHECK(run_in_child(on_full_disk) == 0);
}

TEST_CASE("processes that write and read one entry at once see whole images only") {
  const TemporaryFolder folder;
  const auto work = [&](std::uint8_t byte) {
    for (int round = 0; round < 200; ++round) {
      if (!write_cached(folder.path(), key_of("x"), image_of("x", byte))) return 1;
      const CacheAnswer answer = read_cached(folder.path(), key_of("x"));
      if (answer.refused || (answer.image != image_of("x", 1) && answer.image != image_of("x", 2))) return 2;
    }
    return 0;
  };
  const pid_t other = fork();
  if (other == 0) _exit(work(1));
  CHECK(run_in_child([&] { return work(2); }) == 0);
  int status = -1;
  REQUIRE(waitpid(other, &status, 0) == other);
  CHECK(status == 0);
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a pack finds each of its images and nothing else") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/kernels.pack";
  std::vector<std::string> images;
  for (int i = 0; i < 50; ++i) images.push_back(image_of(cat("nest ", i), static_cast<std::uint8_t>(i)));
  images.push_back(image_of("nest 7", 0xff));  // of one key the first stays
  write_pack(path, images);
  const std::unique_ptr<const Pack> pack = Pack::open(path);
  REQUIRE(pack != nullptr);
  CHECK(pack->size() == 50);
  bool refused = false;
  for (int i = 0; i < 50; ++i) CHECK(pack->find(key_of(cat("nest ", i)), refused) == images[static_cast<std::size_t>(i)]);
  CHECK(pack->find(key_of("nest 50"), refused).empty());
  CHECK(!refused);
  write_pack(path, {});
  CHECK(Pack::open(path)->size() == 0);
  CHECK(Pack::open(path + "x") == nullptr);
}

TEST_CASE("a pack with any byte changed or cut short is refused, or refuses the image") {
  const config::ScopedConfig quiet("log.level", "error");  // hundreds of refusals
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/kernels.pack";
  const std::vector<std::string> images = {image_of("a", 1), image_of("b", 2)};
  write_pack(path, images);
  const std::string good = read_file(path);
  const auto harmless = [&](const std::string& bytes) {
    put(path, bytes);
    const std::unique_ptr<const Pack> pack = Pack::open(path);
    if (pack == nullptr) return true;
    bool refused = false;
    const std::string_view a = pack->find(key_of("a"), refused);
    const std::string_view b = pack->find(key_of("b"), refused);
    return (a.empty() || a == images[0]) && (b.empty() || b == images[1]);
  };
  for (std::size_t i = 0; i < good.size(); i += i < 200 ? 1 : 7) {
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    if (!harmless(changed)) FAIL_CHECK(cat("byte ", i));
    if (!harmless(good.substr(0, i))) FAIL_CHECK(cat("length ", i));
  }
  put(path, good);
  CHECK(Pack::open(path)->size() == 2);
}

}  // namespace
}  // namespace resilin
