// src/resilin/dist/recorder/recorder_machine.cpp -- recordings of this machine: their options, and those of processes that are gone.
#include <chrono>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "resilin/base/config.h"
#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/hash.h"
#include "resilin/dist/recorder/recorder.h"
#include "resilin/dist/recorder/recording.h"

namespace resilin::dist {
namespace {

/// One boot and one time namespace have one monotonic clock.
std::uint64_t own_clock_domain() {
  std::string boot;
  try {
    boot = read_file("/proc/sys/kernel/random/boot_id");
  } catch (const IoError&) {
    return 0;
  }
  std::error_code ignored;
  const std::uint64_t domain = hash_text(boot + std::filesystem::read_symlink("/proc/self/ns/time", ignored).string());
  return domain == 0 ? 1 : domain;
}

std::string own_host() {
  std::string name(256, '\0');
  if (gethostname(name.data(), name.size() - 1) != 0) return "?";
  name.resize(name.find('\0'));
  return name;
}

bool has_writer(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB) != 0; }

/// The wall clock at the last sign of life; nothing for a file that is no recording of this version.
std::optional<std::uint64_t> last_wall_ns(const std::string& path) {
  try {
    const Recording recording = read_recording(read_file(path), path);
    return recording.wall_ns(recording.last_sign_ns());
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Its process makes it in milliseconds, and for some of them without the lock: who looks at the lock then would take it for dead, or get in
/// its way.
bool is_being_made(const std::filesystem::path& unfinished) {
  std::error_code failure;
  const std::filesystem::file_time_type written = std::filesystem::last_write_time(unfinished, failure);
  return failure || written > std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1);
}

/// Whether a sign of life may be older: the system may tell an earlier time of the last write than the real one, never a later one. It spares the reading of
/// hundreds of recordings, which every process that starts would wait for.
bool may_be_older(const std::filesystem::path& path, std::uint64_t wall_ns) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return false;
  return std::chrono::seconds(status.st_mtim.tv_sec) + std::chrono::nanoseconds(status.st_mtim.tv_nsec) < std::chrono::nanoseconds(wall_ns);
}

bool is_dead_recording(const std::filesystem::path& path, std::uint64_t oldest_wall_ns) {
  const bool unfinished = path.extension() == ".new" && path.stem().extension() == ".fr";
  if (!unfinished && path.extension() != ".fr") return false;
  if (unfinished ? is_being_made(path) : !may_be_older(path, oldest_wall_ns)) return false;
  const int descriptor = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return false;
  bool dead = !has_writer(descriptor);
  if (dead && !unfinished) {
    const std::optional<std::uint64_t> last = last_wall_ns(path.string());
    dead = last && *last < oldest_wall_ns;
  }
  close(descriptor);
  return dead;
}

}  // namespace

RecorderOptions machine_recorder_options() {
  RecorderOptions options;
  options.folder = config::text("recorder.dir");
  options.host = own_host();
  options.clock_domain = own_clock_domain();
  options.wall_now = wall_clock_now();
  options.records = static_cast<std::size_t>(config::integer("recorder.records"));
  return options;
}

std::size_t remove_dead_recordings(const std::string& folder, std::chrono::nanoseconds oldest_wall) {
  std::size_t removed = 0;
  std::error_code failure;
  std::filesystem::directory_iterator entries(folder, failure);
  if (failure) return 0;
  std::vector<std::filesystem::path> dead;
  for (const std::filesystem::directory_entry& entry : entries) {
    if (is_dead_recording(entry.path(), static_cast<std::uint64_t>(oldest_wall.count()))) dead.push_back(entry.path());
  }
  for (const std::filesystem::path& path : dead) removed += std::filesystem::remove(path, failure) ? 1 : 0;
  return removed;
}

}  // namespace resilin::dist
