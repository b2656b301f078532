// src/resilin/codegen/disk_cache.cpp -- reads and replaces files of the cache folder.
#include "resilin/codegen/disk_cache.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "resilin/base/file.h"
#include "resilin/base/log.h"

namespace resilin {
namespace {

constexpr off_t kLargestImage = 64 << 20;

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }
  bool is_open() const { return value_ >= 0; }
  bool close() { return ::close(std::exchange(value_, -1)) == 0; }

 private:
  int value_;
};

bool is_ours(const struct stat& status) { return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0; }

void warn_once(const std::string& folder) {
  static std::mutex mutex;  // guards `warned`
  static std::set<std::string>* const warned = new std::set<std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!warned->insert(folder).second) return;
  log(LogLevel::Warning, cat("codegen: the kernel cache is not used: ", folder,
                             ": another user owns it or may write to it; chmod 700 it or set RESILIN_CACHE_DIR"));
}

/// The folder, if it may be trusted.
Descriptor open_folder(const std::string& folder) {
  Descriptor directory(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status;
  if (!directory.is_open() || fstat(directory.get(), &status) != 0) return Descriptor(-1);
  if (is_ours(status)) return directory;
  warn_once(folder);
  return Descriptor(-1);
}

bool read_all(int file, std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = read(file, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Why the open file is not the image of `key`, or nothing; fills `image`.
std::string read_entry(const Descriptor& file, const KernelKey& key, std::string& image) {
  struct stat status;
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "it is not a file";
  if (!is_ours(status)) return "another user owns it or may write to it";
  if (status.st_size > kLargestImage) return "it is too large";
  image.resize(static_cast<std::size_t>(status.st_size));
  if (!read_all(file.get(), image)) return "it cannot be read";
  return check_image(image, key);
}

/// Process and counter: two writers never share a temporary file.
std::string temporary_name(const std::string& name) {
  static std::atomic<unsigned> counter{0};
  return cat(name, ".", static_cast<i64>(getpid()), ".", counter.fetch_add(1, std::memory_order_relaxed), ".tmp");
}

}  // namespace

CacheAnswer read_cached(const std::string& folder, const KernelKey& key) {
  CacheAnswer answer;
  const Descriptor directory = open_folder(folder);
  if (!directory.is_open()) return answer;
  const std::string name = key.file_name();
  // Never waits: something else than a file may bear the name.
  const Descriptor file(openat(directory.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open() && errno == ENOENT) return answer;
  const std::string reason = file.is_open() ? read_entry(file, key, answer.image) : std::string("it cannot be opened");
  if (reason.empty()) return answer;
  answer.image.clear();
  answer.refused = true;
  log(LogLevel::Info, cat("codegen: a cached kernel is built again: ", folder, "/", name, ": ", reason));
  return answer;
}

// No fsync: after a crash an entry may be empty or torn, which its checksum tells, and then it is built again.
bool write_cached(const std::string& folder, const KernelKey& key, const std::string& image) {
  try {
    ensure_directory(folder);
  } catch (const IoError&) {
    return false;
  }
  const Descriptor directory = open_folder(folder);
  if (!directory.is_open()) return false;
  const std::string name = key.file_name();
  const std::string temporary = temporary_name(name);
  Descriptor file(openat(directory.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return false;
  const bool written = write_all(file.get(), image);
  if (file.close() && written && renameat(directory.get(), temporary.c_str(), directory.get(), name.c_str()) == 0) return true;
  unlinkat(directory.get(), temporary.c_str(), 0);
  return false;
}

}  // namespace resilin
