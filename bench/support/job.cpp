// bench/support/job.cpp -- a job whose ranks are this program again, and what they tell.
#include "bench/support/job.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "resilin/base/file.h"
#include "resilin/base/text.h"
#include "resilin/dist/launch/rank_info.h"
#include "resilin/dist/launch/run.h"

namespace resilin::bench {
namespace {

std::string path_of(const std::string& folder) { return folder + "/records"; }

[[noreturn]] void run_launcher(const std::vector<std::string>& arguments, const std::string& log) {
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  int code = 1;
  try {
    code = dist::run_job(arguments, variables);
  } catch (const std::exception& error) {
    dprintf(STDERR_FILENO, "%s\n", error.what());
  }
  _exit(code);
}

}  // namespace

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double processor_s() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return std::nan("");
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

Records::Records(const std::string& folder) : file_(open(path_of(folder).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (file_ < 0) throw std::runtime_error("no file of records in " + folder);
  const dist::RankInfo info = dist::rank_info().value_or(dist::RankInfo{});
  rank_ = static_cast<int>(info.rank);
  life_ = static_cast<int>(info.restart_count);
}

Records::~Records() { close(file_); }

void Records::tell_at(double at_s, const std::string& what, std::array<double, 3> values) const {
  const std::string line = cat(what, ' ', rank_, ' ', life_, ' ', at_s, ' ', values[0], ' ', values[1], ' ', values[2], '\n');
  if (write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) throw std::runtime_error("a record cannot be written");
}

std::vector<Record> Records::read(const std::string& folder) {
  std::vector<Record> records;
  std::ifstream file(path_of(folder));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Record record;
    words >> record.what >> record.rank >> record.life >> record.at_s >> record.values[0] >> record.values[1] >> record.values[2];
    if (!words) throw std::runtime_error("no record: " + line);
    records.push_back(std::move(record));
  }
  return records;
}

JobFolder::JobFolder() : path_("/tmp/resilin-bench-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder at " + path_);
}

JobFolder::~JobFolder() {
  std::error_code failure;
  std::filesystem::remove_all(path_, failure);
}

void run_job_of_ranks(int ranks, const std::string& part, const std::string& folder, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"--standalone",
                                        cat("--nproc-per-node=", ranks),
                                        "--policy=respawn",
                                        "--max-restarts=100",
                                        std::filesystem::read_symlink("/proc/self/exe").string(),
                                        "--rank",
                                        part,
                                        folder};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const std::string log = folder + "/log";
  const pid_t launcher = fork();
  if (launcher < 0) throw std::runtime_error("no process can be started");
  if (launcher == 0) run_launcher(arguments, log);
  int status = 0;
  waitpid(launcher, &status, 0);
  if (status != 0) throw std::runtime_error(cat(part, ": the job ended with status ", status, "\n", read_file(log)));
}

}  // namespace resilin::bench
