// src/resilin/dist/launch/run_folder.cpp -- folders of jobs, locked by their agents.
#include "resilin/dist/launch/run_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/log.h"
#include "resilin/base/text.h"
#include "resilin/dist/agent/spawn.h"

namespace resilin::dist {
namespace {

constexpr std::string_view kUnfinished = ".new-";  // folders that have no lock yet
constexpr std::string_view kLock = "/lock";
constexpr std::string_view kProcesses = "/processes";

/// A name that is safe in a path.
std::string plain(const std::string& job) {
  std::string name;
  for (const char c : job.substr(0, 40)) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    name += fine ? c : '_';
  }
  return name;
}

bool has_living_process(const std::string& folder) {
  std::string text;
  try {
    text = read_file(cat(folder, kProcesses));
  } catch (const IoError&) {
    return false;  // it never started one
  }
  std::istringstream lines(text);
  pid_t process = 0;
  unsigned long long start = 0;
  while (lines >> process >> start) {
    if (start_time_of(process) == start) return true;
  }
  return false;
}

bool is_abandoned(const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  if (name.starts_with(kUnfinished)) {
    std::error_code failed;
    const std::filesystem::file_time_type written = std::filesystem::last_write_time(folder, failed);
    return !failed && written < std::filesystem::file_time_type::clock::now() - std::chrono::minutes(10);
  }
  if (access((folder.string() + std::string(kLock)).c_str(), F_OK) != 0) return false;  // not made here
  return FileLock::try_lock(folder.string() + std::string(kLock)).has_value() && !has_living_process(folder.string());
}

}  // namespace

std::string run_base() {
  const std::string memory = "/dev/shm";
  const std::string parent = access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path().string();
  return cat(parent, "/resilin-", geteuid());
}

void ensure_run_base(const std::string& base) {
  ensure_directory(base);
  struct stat status;
  if (lstat(base.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    throw IoError(cat("run: the folder is not this user's alone: ", base, "; it must be a folder of user ", geteuid(), " with mode 0700"));
  }
}

int remove_abandoned(const std::string& base) {
  std::error_code failed;
  int removed = 0;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(base, failed)) {
    if (!is_abandoned(entry.path())) continue;
    std::filesystem::remove_all(entry.path(), failed);
    if (!failed) ++removed;
  }
  return removed;
}

RunFolder::RunFolder(const std::string& base, const std::string& job) {
  ensure_run_base(base);
  if (const int removed = remove_abandoned(base); removed > 0) {
    log(LogLevel::Info, cat("run: removed the folders of ", removed, " jobs whose agents had died: ", base));
  }
  // Made and locked under a name that no cleaner looks at, then given its own: the lock goes along.
  std::string unfinished = cat(base, "/", kUnfinished, "XXXXXX");
  if (mkdtemp(unfinished.data()) == nullptr) {
    throw IoError(cat("run: ", std::generic_category().message(errno), ": ", unfinished, "; the folder must be writable"));
  }
  lock_.emplace(cat(unfinished, kLock));
  path_ = cat(base, "/", plain(job), "-", getpid(), unfinished.substr(unfinished.size() - 7));
  std::filesystem::rename(unfinished, path_);
}

RunFolder::~RunFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void RunFolder::note_process(pid_t process) {
  processes_ += cat(process, " ", start_time_of(process).value_or(0), "\n");
  atomic_write(cat(path_, kProcesses), processes_);
}

}  // namespace resilin::dist
