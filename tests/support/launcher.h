// tests/support/launcher.h -- Internal: `resilin run` in a process of its own, and what its ranks wrote.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "resilin/base/file.h"
#include "resilin/dist/agent/spawn.h"

#include "tests/support/slowness.h"
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
  for (int i = 0; i < within_s * testing::kSlowness * 100; ++i) {
    if (condition()) return true;
    usleep(10'000);
  }
  return condition();
}

/// The variables of this process, for programs that it starts.
std::vector<std::string> own_environment();

/// The exit code of a child once it has ended, or minus the signal that ended it.
int end_of(Child& child);

/// A launcher in a process of its own, and the folder that its ranks write to as $OUT. It is this program, started anew: a copy of this process
/// would lack the threads that it has.
class Launcher {
 public:
  /// It ends after `most_s` seconds in any case.
  Launcher(const testing::TemporaryFolder& out, const std::vector<std::string>& arguments, const std::string& name = "launcher",
           unsigned most_s = 100);

  /// Its exit code, or minus the signal that ended it.
  int wait() { return end_of(child_); }
  pid_t process() const { return child_.process(); }
  void send(int signal) const { child_.send_signal(signal); }
  std::string log() const { return read_or_empty(log_); }

 private:
  std::string log_;
  Child child_;
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
