// tests/dist/security/secret_test.cpp -- where the job's secret may come from, and where not.
#include "resilin/dist/security/secret.h"

#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/dist/os/descriptor.h"

#include "tests/support/temporary_folder.h"

namespace resilin::dist {
namespace {

std::string message_of(const std::string& path) {
  try {
    JobSecret::of_file(path);
  } catch (const IoError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("a secret is read from a file of its owner alone") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/secret";
  const JobSecret secret = JobSecret::make();
  atomic_write(path, secret.bytes());
  CHECK(JobSecret::of_file(path).bytes() == secret.bytes());
  chmod(path.c_str(), 0400);
  CHECK(JobSecret::of_file(path).bytes() == secret.bytes());
  for (const mode_t mode : {0640, 0604, 0660, 0700}) {
    chmod(path.c_str(), mode);
    CHECK(message_of(path).starts_with("secret: others may use the file: " + path + " has mode 0"));
  }
  CHECK(message_of(path).find("0700") != std::string::npos);
}

TEST_CASE("a file of another size, a folder, a link and a missing file are refused") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/secret";
  atomic_write(path, std::string(31, 'x'));
  CHECK(message_of(path) == "secret: the file has 31 bytes: " + path + "; it must have 32");
  CHECK(message_of(folder.path()).starts_with("secret: "));
  CHECK(message_of(path + "2").starts_with("secret: No such file or directory"));
  atomic_write(path, std::string(32, 'x'));
  REQUIRE(symlink(path.c_str(), (path + "link").c_str()) == 0);
  CHECK(message_of(path + "link").starts_with("secret: "));
}

TEST_CASE("a descriptor gives the secret as often as it is asked") {
  const testing::TemporaryFolder folder;
  const JobSecret secret = JobSecret::make();
  atomic_write(folder.path() + "/secret", secret.bytes());
  const Descriptor file(open((folder.path() + "/secret").c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(JobSecret::of_descriptor(file.get()).bytes() == secret.bytes());
  CHECK(JobSecret::of_descriptor(file.get()).bytes() == secret.bytes());
  CHECK_THROWS_AS(JobSecret::of_descriptor(-1), IoError);
}

TEST_CASE("two secrets differ") { CHECK(JobSecret::make().bytes() != JobSecret::make().bytes()); }

}  // namespace
}  // namespace resilin::dist
