// src/resilin/base/file.cpp -- whole files read, mapped, replaced at once and locked.
#include "resilin/base/file.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin {
namespace {

IoError failure(const char* operation, const std::string& path, int reason) {
  return IoError(cat(operation, ": ", std::generic_category().message(reason), ": ", path, "; the path must be accessible"));
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const char* operation, const std::string& path, int flags, mode_t mode = 0) {
    do {
      value_ = open(path.c_str(), flags | O_CLOEXEC, mode);
    } while (value_ < 0 && errno == EINTR);
    if (value_ < 0) throw failure(operation, path, errno);
  }
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_ = -1;
};

std::size_t file_size(const char* operation, const std::string& path, const Descriptor& file) {
  struct stat status;
  if (fstat(file.get(), &status) != 0) throw failure(operation, path, errno);
  if (S_ISDIR(status.st_mode)) throw failure(operation, path, EISDIR);
  return static_cast<std::size_t>(status.st_size);
}

std::string parent_folder(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string program_folder(const char* operation) {
  std::string program(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", program.data(), program.size());
  if (length < 0) throw failure(operation, "/proc/self/exe", errno);
  program.resize(static_cast<std::size_t>(length));
  return parent_folder(program);
}

void write_all(const std::string& path, const Descriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw failure("atomic_write", path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// Process id, counter: two writers of one path never share a temporary file.
std::string temporary_path(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return cat(path, ".", static_cast<i64>(getpid()), ".", counter.fetch_add(1, std::memory_order_relaxed), ".tmp");
}

}  // namespace

std::string read_file(const std::string& path) {
  const Descriptor file("read_file", path, O_RDONLY);
  std::string bytes(file_size("read_file", path, file), '\0');
  std::size_t done = 0;
  while (true) {
    // Files of /proc say size 0 and a file may grow meanwhile: read until the end, whatever the size was.
    if (done == bytes.size()) bytes.resize(bytes.size() + 4096);
    const ssize_t count = read(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw failure("read_file", path, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

void atomic_write(const std::string& path, std::string_view bytes) { atomic_write(path, std::span<const std::string_view>(&bytes, 1)); }

void atomic_write(const std::string& path, std::span<const std::string_view> pieces) {
  const std::string temporary = temporary_path(path);
  try {
    const Descriptor file("atomic_write", temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
    for (const std::string_view piece : pieces) write_all(path, file, piece);
    if (fsync(file.get()) != 0) throw failure("atomic_write", path, errno);
    if (rename(temporary.c_str(), path.c_str()) != 0) throw failure("atomic_write", path, errno);
  } catch (...) {
    unlink(temporary.c_str());
    throw;
  }
  const std::string folder = parent_folder(path);
  const Descriptor directory("atomic_write", folder, O_RDONLY | O_DIRECTORY);
  // Some file systems cannot sync a folder; the rename itself is done.
  if (fsync(directory.get()) != 0 && errno != EINVAL && errno != ENOTSUP) throw failure("atomic_write", folder, errno);
}

void ensure_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) return;
  if (errno == ENOENT && parent_folder(path) != path) {
    ensure_directory(parent_folder(path));
    if (mkdir(path.c_str(), 0700) == 0) return;
  }
  const int reason = errno;
  struct stat status;
  if (reason == EEXIST && stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return;
  throw failure("ensure_directory", path, reason == EEXIST ? ENOTDIR : reason);
}

std::string code_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&code_folder), &info) == 0 || info.dli_fname == nullptr) {
    throw IoError("code_folder: the loader does not know where this code lies");
  }
  // The loader gives a program's own name as it was started, maybe by a path or found in PATH; /proc knows the file.
  const std::string name = info.dli_fname;
  return name.find('/') != std::string::npos ? parent_folder(name) : program_folder("code_folder");
}

std::string plugin_path(const std::string& file) {
  const std::string beside = cat(code_folder(), "/", file);
  if (access(beside.c_str(), R_OK) == 0) return beside;
  const std::string beside_program = cat(program_folder("plugin_path"), "/", file);
  return access(beside_program.c_str(), R_OK) == 0 ? beside_program : beside;
}

MappedFile::MappedFile(const std::string& path, MapAccess access) {
  const Descriptor file("map_file", path, O_RDONLY);
  size_bytes_ = file_size("map_file", path, file);
  if (size_bytes_ == 0) return;
  const int protection = access == MapAccess::CopyOnWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  // No reserve: most pages of a private mapping are never written.
  void* address = mmap(nullptr, size_bytes_, protection, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (address == MAP_FAILED) throw failure("map_file", path, errno);
  data_ = static_cast<std::byte*>(address);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_bytes_);
}

FileLock::FileLock(const std::string& path) {
  Descriptor file("file_lock", path, O_RDWR | O_CREAT, 0600);
  while (flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) throw failure("file_lock", path, errno);
  }
  descriptor_ = file.release();
}

std::optional<FileLock> FileLock::try_lock(const std::string& path) {
  Descriptor file("file_lock", path, O_RDWR | O_CREAT, 0600);
  while (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::nullopt;
    if (errno != EINTR) throw failure("file_lock", path, errno);
  }
  return FileLock(file.release());
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace resilin
