// tests/dist/launch/run_folder_test.cpp -- folders of jobs: private, gone at the end, and cleaned up after dead agents.
#include "resilin/dist/launch/run_folder.h"

#include <filesystem>
#include <memory>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

#include "tests/support/temporary_folder.h"

namespace resilin::dist {
namespace {

std::size_t folders_in(const std::string& base) {
  std::size_t count = 0;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(base)) count += entry.is_directory() ? 1 : 0;
  return count;
}

/// An agent that dies without a word; it had noted this process.
void leave_folder(const std::string& base, pid_t noted) {
  const pid_t agent = fork();
  if (agent == 0) {
    alarm(20);
    RunFolder* const folder = new RunFolder(base, "lost");
    if (noted > 0) folder->note_process(noted);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(agent, &status, 0) == agent);
  REQUIRE(status == 0);
}

TEST_CASE("a folder is its user's alone and gone at the end") {
  const testing::TemporaryFolder place;
  const std::string base = place.path() + "/base";
  {
    const RunFolder first(base, "a/../job"), second(base, "a/../job");
    CHECK(first.path() != second.path());
    CHECK(first.path().find("a____job") != std::string::npos);
    struct stat status;
    REQUIRE(stat(first.path().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
    CHECK(folders_in(base) == 2);
  }
  CHECK(folders_in(base) == 0);
}

TEST_CASE("what a dead agent left is removed, what living ones have is not") {
  const testing::TemporaryFolder place;
  const std::string base = place.path() + "/base";
  leave_folder(base, 0);
  CHECK(folders_in(base) == 1);
  const RunFolder living(base, "job");
  CHECK(folders_in(base) == 1);
  CHECK(remove_abandoned(base) == 0);
}

TEST_CASE("the folder of a lost agent stays while one of its ranks lives") {
  const testing::TemporaryFolder place;
  const std::string base = place.path() + "/base";
  const pid_t rank = fork();
  if (rank == 0) {
    alarm(20);
    pause();
    _exit(0);
  }
  leave_folder(base, rank);
  CHECK(remove_abandoned(base) == 0);
  CHECK(folders_in(base) == 1);
  kill(rank, SIGKILL);
  REQUIRE(waitpid(rank, nullptr, 0) == rank);
  CHECK(remove_abandoned(base) == 1);
  CHECK(folders_in(base) == 0);
}

TEST_CASE("a base that others may write is refused") {
  const testing::TemporaryFolder place;
  const std::string base = place.path() + "/base";
  REQUIRE(mkdir(base.c_str(), 0755) == 0);
  CHECK_THROWS_AS(RunFolder(base, "job"), IoError);
}

}  // namespace
}  // namespace resilin::dist
