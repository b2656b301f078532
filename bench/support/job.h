// bench/support/job.h -- a job whose ranks are this program again, and what they tell.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace resilin::bench {

/// Of the clock that all processes of a host share, in seconds.
double now_s();
/// Processor time of this process so far, in seconds.
double processor_s();
/// The value at q of the sorted values; NaN of none.
double quantile(std::vector<double> values, double q);

/// A moment of a rank, with figures.
struct Record {
  std::string what;
  int rank = 0;  // of the launcher
  int life = 0;
  double at_s = 0;
  std::array<double, 3> values{};
};

/// The file of a job's records, to which each rank adds lines, each written at once. It outlives ranks that are killed.
class Records {
 public:
  /// Of this process, in the job's folder.
  explicit Records(const std::string& folder);
  ~Records();
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  void tell(const std::string& what, std::array<double, 3> values = {}) const { tell_at(now_s(), what, values); }
  void tell_at(double at_s, const std::string& what, std::array<double, 3> values = {}) const;
  /// What all ranks have told so far, in the order of their telling.
  static std::vector<Record> read(const std::string& folder);

 private:
  int file_ = -1;
  int rank_ = 0, life_ = 0;
};

/// A folder for the time of a scope.
class JobFolder {
 public:
  JobFolder();
  ~JobFolder();
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Runs `ranks` ranks of this program under the launcher, which starts a killed one again, and comes back when the job has ended. A rank is told by its
/// arguments: "--rank", the part, the folder, and `more`. std::runtime_error, with the job's output, when it failed.
void run_job_of_ranks(int ranks, const std::string& part, const std::string& folder, const std::vector<std::string>& more);

}  // namespace resilin::bench
