// src/resilin/dist/recorder/recorder_file.cpp -- making, mapping and locking a recorder file.
#include "resilin/dist/recorder/recorder_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin::dist {
namespace {

std::atomic<std::uint64_t> fork_count{0};

std::uint64_t watched_fork_count() {
  static const int kWatched = pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });
  RESILIN_ASSERT(kWatched == 0, "no room for a fork handler");
  return fork_count.load(std::memory_order_relaxed);
}

[[noreturn]] void fail(const std::string& path, int reason) {
  throw IoError(cat("recorder: the file cannot be made: ", std::generic_category().message(reason), ": ", path,
                    "; its folder must be writable and have room"));
}

}  // namespace

RecorderFile::RecorderFile(const std::string& path, const FileHeader& header)
    : path_(path), layout_(layout_of(header)), forks_(watched_fork_count()) {
  const std::string unfinished = path + ".new";
  descriptor_ = open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor_ < 0) fail(path, errno);
  try {
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) fail(path, errno);
    // Reserved now: a full file system is an error here, not a signal at some event.
    const int reason = posix_fallocate(descriptor_, 0, static_cast<off_t>(layout_.total));
    if (reason != 0) fail(path, reason);
    map(descriptor_);
    std::memcpy(base_, &header, sizeof header);
    if (rename(unfinished.c_str(), path.c_str()) != 0) fail(path, errno);
  } catch (...) {
    unlink(unfinished.c_str());
    if (base_ != nullptr) munmap(base_, layout_.total);
    close(descriptor_);
    throw;
  }
}

void RecorderFile::map(int descriptor) {
  void* const memory = mmap(nullptr, layout_.total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  if (memory == MAP_FAILED) fail(path_, errno);
  base_ = static_cast<std::byte*>(memory);
  if (madvise(base_, layout_.total, MADV_DONTFORK) != 0) fail(path_, errno);
}

RecorderFile::~RecorderFile() {
  // In a child these addresses may belong to something else by now.
  if (!is_forked()) munmap(base_, layout_.total);
  close(descriptor_);
}

bool RecorderFile::is_forked() const noexcept { return fork_count.load(std::memory_order_relaxed) != forks_; }

std::span<std::uint64_t> RecorderFile::group_slot(std::size_t index) const {
  return {reinterpret_cast<std::uint64_t*>(base_ + layout_.groups + index * layout_.group_slot), layout_.group_slot / 8};
}

}  // namespace resilin::dist
