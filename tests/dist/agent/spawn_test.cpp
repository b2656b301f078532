// tests/dist/agent/spawn_test.cpp -- real children: how they start, what they inherit, how they end.
#include "resilin/dist/agent/spawn.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/text.h"

#include "tests/support/temporary_folder.h"

namespace resilin::dist {
namespace {

Program shell(const std::string& script) {
  Program program;
  program.arguments = {"sh", "-c", script};
  program.environment = {"PATH=/usr/bin:/bin"};
  return program;
}

/// Waits for the end by the descriptor, 20 seconds at most.
ProcessEnd end_of(Child& child) {
  pollfd waited{child.descriptor(), POLLIN, 0};
  REQUIRE(poll(&waited, 1, 20'000) == 1);
  const std::optional<ProcessEnd> end = child.reap();
  REQUIRE(end.has_value());
  return *end;
}

std::string output_of(Program program) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/out";
  const Descriptor out(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  program.out = out.get();
  Child child(program);
  CHECK(end_of(child).succeeded());
  return read_file(path);
}

TEST_CASE("a child ends with its code or its signal, and is reaped once") {
  Child exits(shell("exit 7"));
  CHECK(end_of(exits).code == 7);
  CHECK_FALSE(exits.reap().has_value());
  Child dies(shell("kill -ABRT $$"));
  CHECK(end_of(dies).signal == SIGABRT);
  Child runs(shell("sleep 30"));
  CHECK_FALSE(runs.reap().has_value());
  runs.send_signal(SIGKILL);
  CHECK(end_of(runs).signal == SIGKILL);
  runs.send_signal(SIGKILL);  // the number may be another's by now: nothing is sent
}

TEST_CASE("a program that is not there is told when it is started") {
  Program program;
  program.arguments = {"/no/such/program"};
  CHECK_THROWS_WITH_AS(Child{program}, "spawn: No such file or directory: /no/such/program; the program must be there and executable",
                       IoError);
  program.arguments = {"/etc/passwd"};
  CHECK_THROWS_AS(Child{program}, IoError);
}

TEST_CASE("a child has an empty input, its own variables and no descriptor that was not meant for it") {
  const Descriptor secret(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  const Descriptor other(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  Program program = shell("cat; echo $WORD; for f in /proc/$$/fd/*; do readlink $f; done; true");
  program.environment.push_back("WORD=said");
  program.kept = {secret.get()};
  const std::string output = output_of(program);
  CHECK(output.starts_with("said\n"));
  std::size_t zeros = 0;
  for (std::size_t at = output.find("/dev/zero"); at != std::string::npos; at = output.find("/dev/zero", at + 1)) ++zeros;
  CHECK(zeros == 1);
}

TEST_CASE("a child runs on the processors that it was given") {
  Program program = shell("grep Cpus_allowed_list /proc/self/status");
  program.processors = {0};
  CHECK(output_of(program) == "Cpus_allowed_list:\t0\n");
}

TEST_CASE("what a child started ends with it") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/pid";
  Child child(shell("sleep 60 & echo $! > " + path + ".new; mv " + path + ".new " + path + "; exit 0"));
  CHECK(end_of(child).succeeded());
  const pid_t left = static_cast<pid_t>(std::atoi(read_file(path).c_str()));
  REQUIRE(left > 0);
  const auto lives = [left] {
    std::ifstream stat(cat("/proc/", left, "/stat"));
    std::string text;
    return std::getline(stat, text) && text.find(") Z") == std::string::npos;
  };
  for (int i = 0; i < 500 && lives(); ++i) usleep(10'000);
  CHECK_FALSE(lives());
}

TEST_CASE("a child that dies with its parent does not outlive it") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const pid_t agent = fork();
  if (agent == 0) {
    alarm(20);
    Program program = shell("sleep 60");
    program.dies_with_parent = true;
    Child* const child = new Child(program);
    const pid_t process = child->process();
    static_cast<void>(!write(ends[1], &process, sizeof process));
    kill(getpid(), SIGKILL);
  }
  close(ends[1]);
  pid_t rank = 0;
  REQUIRE(read(ends[0], &rank, sizeof rank) == static_cast<ssize_t>(sizeof rank));
  close(ends[0]);
  REQUIRE(waitpid(agent, nullptr, 0) == agent);
  const auto state_of = [rank] {
    std::ifstream stat(cat("/proc/", rank, "/stat"));
    std::string text;
    return std::getline(stat, text) ? text.substr(text.rfind(')') + 2, 1) : "";
  };
  for (int i = 0; i < 500 && state_of() != "" && state_of() != "Z"; ++i) usleep(10'000);
  CHECK((state_of() == "" || state_of() == "Z"));
}

TEST_CASE("a child ends with its object") {
  pid_t process = 0;
  {
    const Child child(shell("sleep 60"));
    process = child.process();
    CHECK(start_time_of(process).has_value());
  }
  CHECK_FALSE(start_time_of(process).has_value());
}

}  // namespace
}  // namespace resilin::dist
