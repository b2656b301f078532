// tests/dist/group/measure.h -- Internal: what tests of real processes look at, and the load that they run beside.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

#include "resilin/base/text.h"
#include "resilin/dist/launch/run_folder.h"

namespace resilin::dist::measure {

/// As /proc has it; empty when the process is gone. With the number it is a process's own.
inline std::string start_time_of(pid_t process) {
  std::ifstream stat(cat("/proc/", process, "/stat"));
  std::string text;
  std::getline(stat, text);
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string value;
  for (int i = 0; i < 20 && fields >> value; ++i) continue;
  return value;
}

inline std::size_t descriptors_of(pid_t process) {
  std::size_t count = 0;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(cat("/proc/", process, "/fd"), gone)) count += entry.exists() ? 1 : 0;
  return count;
}

inline double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

/// "p50 1.5 ms, p95 2.0 ms, p99 2.0 ms, at most 3.1 ms"
inline std::string percentiles(const std::vector<double>& values_ms) {
  const auto rounded = [&](double share) {
    std::ostringstream text;
    text.setf(std::ios::fixed);
    text.precision(1);
    text << percentile(values_ms, share) << " ms";
    return text.str();
  };
  return cat("p50 ", rounded(0.5), ", p95 ", rounded(0.95), ", p99 ", rounded(0.99), ", at most ", rounded(1));
}

/// Names that killed ranks left where shared memory has one for milliseconds. They are made old, so that nobody has to wait a minute until the
/// next one that opens a transport removes them.
inline std::vector<std::filesystem::path> age_segments() {
  std::vector<std::filesystem::path> before, left;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(run_base() + "/ucx", gone)) before.push_back(entry.path());
  usleep(2'000'000);
  for (const std::filesystem::path& path : before) {
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(2), gone);
    if (!gone) left.push_back(path);
  }
  return left;
}

/// Threads that compute for nobody.
class Load {
 public:
  explicit Load(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        volatile double x = 1;
        while (!ended_) x = x * 1.0000001 + 1e-9;
      });
    }
  }
  ~Load() {
    ended_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

 private:
  std::atomic<bool> ended_{false};
  std::vector<std::thread> threads_;
};

}  // namespace resilin::dist::measure
