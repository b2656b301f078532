// tests/support/launcher.h -- Internal: `resilin run` in a process of its own, and what its ranks wrote.
#pragma once

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/file.h"
#include "resilin/dist/launch/run.h"

#include "tests/support/temporary_folder.h"

namespace resilin::dist::launch {

inline std::string read_or_empty(const std::string& path) { return std::filesystem::exists(path) ? read_file(path) : ""; }

/// Of a file in /proc, whose process may end meanwhile: then what there is.
inline std::string read_proc(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

inline std::vector<std::string> lines_of(const std::string& path) {
  std::istringstream text(read_or_empty(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// Of one clock for all processes of the machine.
inline double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

template <class Condition>
bool comes_true(Condition condition, int within_s = 20) {
  for (int i = 0; i < within_s * 100; ++i) {
    if (condition()) return true;
    usleep(10'000);
  }
  return condition();
}

/// A launcher in a process of its own, and the folder that its ranks write to as $OUT.
class Launcher {
 public:
  /// It ends after `most_s` seconds in any case.
  Launcher(const testing::TemporaryFolder& out, std::vector<std::string> arguments, const std::string& name = "launcher",
           unsigned most_s = 100)
      : log_(out.path() + "/" + name), most_s_(most_s) {
    process_ = fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) run(out, arguments);
  }
  ~Launcher() {
    if (process_ < 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  /// Its exit code, or minus the signal that ended it.
  int wait() {
    int status = 0;
    REQUIRE(waitpid(process_, &status, 0) == process_);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  pid_t process() const { return process_; }
  void send(int signal) const { kill(process_, signal); }
  std::string log() const { return read_or_empty(log_); }

 private:
  [[noreturn]] void run(const testing::TemporaryFolder& out, const std::vector<std::string>& arguments) const {
    alarm(most_s_);
    const int log = open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    std::vector<std::string> variables = {"OUT=" + out.path(), "RESILIN_RECORDER_DIR=" + out.path() + "/recordings"};
    for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
    int code = 99;
    try {
      code = run_job(arguments, variables);
    } catch (const std::exception& error) {
      dprintf(STDERR_FILENO, "%s\n", error.what());
      code = 98;
    }
    _exit(code);
  }

  std::string log_;
  unsigned most_s_;
  pid_t process_ = -1;
};

/// The flags, then this program as the rank: it runs one test case, which reads `mode` from RESILIN_TEST_RANK.
inline std::vector<std::string> with_test_case(std::vector<std::string> flags, const std::string& mode, const std::string& test_case) {
  for (const std::string& argument :
       {std::string("env"), "RESILIN_TEST_RANK=" + mode, std::filesystem::read_symlink("/proc/self/exe").string(),
        "--test-case=" + test_case, std::string("--no-skip")}) {
    flags.push_back(argument);
  }
  return flags;
}

}  // namespace resilin::dist::launch
