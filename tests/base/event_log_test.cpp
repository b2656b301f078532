// tests/base/event_log_test.cpp -- events of several processes in one file, and what is left of lines that broke off.
#include "resilin/base/event_log.h"

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"

#include "tests/support/temporary_folder.h"

namespace resilin {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::istringstream text(read_file(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("an event is one line that reads back") {
  const Event event{"kill", 2, 1, {{"signal", 9}, {"step", 50}, {"text", "a\n\"b\""}}, 1234567};
  const std::string line = event_line(event);
  CHECK(line == R"({"t_us":1234567,"what":"kill","rank":2,"life":1,"signal":9,"step":50,"text":"a\n\"b\""})");
  const std::optional<Event> read = parse_event(line);
  REQUIRE(read);
  CHECK(read->what == "kill");
  CHECK(read->rank == 2);
  CHECK(read->life == 1);
  CHECK(read->t_us == 1234567);
  CHECK(read->more == event.more);
  REQUIRE(read->find("step") != nullptr);
  CHECK(read->find("step")->integer() == 50);
  CHECK(read->find("loss") == nullptr);
}

TEST_CASE("the time is that of the system's clock, taken as the event is appended") {
  const i64 before = unix_time_us();
  const std::optional<Event> read = parse_event(event_line({"run", 0, 0, {}}));
  REQUIRE(read);
  CHECK(read->t_us >= before);
  CHECK(read->t_us <= unix_time_us());
  CHECK(before > 1'600'000'000'000'000);
}

TEST_CASE("what JSON has no word for does not lose the event") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::optional<Event> read = parse_event(event_line({"sample",
                                                            0,
                                                            0,
                                                            {{"loss", std::numeric_limits<double>::quiet_NaN()},
                                                             {"list", Json::Array{1, infinity}},
                                                             {"text", "a\xff\xc3"},
                                                             {"fine", "\xc3\xa4"}}}));
  REQUIRE(read);
  CHECK(read->find("loss")->is_null());
  CHECK(read->find("list")->array() == Json::Array{1, Json()});
  CHECK(read->find("text")->text() == "a\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(read->find("fine")->text() == "\xc3\xa4");
}

TEST_CASE("what is no event is skipped, and one behind a torn line is found") {
  const std::string whole = R"({"t_us":5,"what":"commit","rank":0,"life":0,"step":7})";
  for (const char* line :
       {"", "x", "{}", "[1]", "{\"t_us\":5}", R"({"t_us":5.5,"what":"a","rank":0,"life":0})", R"({"t_us":5,"what":1,"rank":0,"life":0})",
        R"({"t_us":5,"what":"a","rank":0})", R"({"t_us":5,"what":"a","rank":0,"life":0)"}) {
    CAPTURE(line);
    CHECK_FALSE(parse_event(line));
  }
  for (const char* torn : {"{\"t_us\":12", R"({"t_us":5,"what":"goodput","rank":1,"life":0,"train_s":1.)", "\x01\xff"}) {
    const std::optional<Event> read = parse_event(torn + whole);
    REQUIRE(read);
    CHECK(read->what == "commit");
    CHECK(read->find("step")->integer() == 7);
  }
}

TEST_CASE("lines of processes and threads that append at once stay whole") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/events.jsonl";
  constexpr int kProcesses = 3, kThreads = 2, kEvents = 200;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(fork());
    REQUIRE(children.back() >= 0);
    if (children.back() != 0) continue;
    alarm(60);
    EventLog log(path);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&log, process, thread] {
        for (int i = 0; i < kEvents; ++i)
          log.append({"step", process, thread, {{"step", i}, {"text", std::string(static_cast<std::size_t>(i * 20), 'x')}}});
      });
    }
    for (std::thread& thread : threads) thread.join();
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
  }
  std::map<std::pair<i64, i64>, std::vector<i64>> steps;
  for (const std::string& line : lines_of(path)) {
    const std::optional<Event> event = parse_event(line);
    REQUIRE(event);
    steps[{event->rank, event->life}].push_back(event->find("step")->integer());
  }
  CHECK(steps.size() == kProcesses * kThreads);
  for (const auto& [life, numbers] : steps) {
    CHECK(numbers.size() == kEvents);
    CHECK(std::ranges::is_sorted(numbers));
  }
}

TEST_CASE("a file that cannot be opened is an error, and a write that fails one warning") {
  const testing::TemporaryFolder folder;
  CHECK_THROWS_AS(EventLog(folder.path() + "/none/events.jsonl"), IoError);
  CHECK_THROWS_AS(EventLog(folder.path()), IoError);
  const std::string told = folder.path() + "/told";
  const int saved = dup(STDERR_FILENO), file = open(told.c_str(), O_WRONLY | O_CREAT, 0600);
  dup2(file, STDERR_FILENO);
  {
    EventLog full("/dev/full");
    for (int i = 0; i < 3; ++i) full.append({"step", 0, 0, {}});
  }
  dup2(saved, STDERR_FILENO);
  close(saved);
  close(file);
  CHECK(read_file(told) ==
        "resilin warning: events: No space left on device: /dev/full; events that cannot be written are missing from now on\n");
}

TEST_CASE("a line of which a part was written is closed before the next one") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/events.jsonl";
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);
    signal(SIGXFSZ, SIG_IGN);
    const rlimit small{100, RLIM_INFINITY};
    EventLog log(path);
    if (setrlimit(RLIMIT_FSIZE, &small) != 0) _exit(1);
    log.append({"first", 0, 0, {{"text", std::string(200, 'x')}}});  // 100 bytes of it are taken
    const rlimit large{RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &large) != 0) _exit(2);
    log.append({"second", 0, 0, {}});
    log.append({"third", 0, 0, {}});
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  const std::vector<std::string> lines = lines_of(path);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].size() == 100);
  CHECK_FALSE(parse_event(lines[0]));
  CHECK(parse_event(lines[1])->what == "second");
  CHECK(parse_event(lines[2])->what == "third");
}

}  // namespace
}  // namespace resilin
