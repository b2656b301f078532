// src/resilin/dist/os/shared_segment.cpp -- memfd segments and waits on their numbers.
#include "resilin/dist/os/shared_segment.h"

#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin::dist {
namespace {

static_assert(std::endian::native == std::endian::little);  // the kernel waits on the low half of a number

std::size_t mapped_bytes(std::size_t bytes) { return bytes == 0 ? 1 : bytes; }

}  // namespace

SharedSegment SharedSegment::create(std::size_t bytes) {
  Descriptor descriptor(::memfd_create("resilin-segment", MFD_CLOEXEC));
  if (!descriptor || ::ftruncate(descriptor.get(), static_cast<off_t>(mapped_bytes(bytes))) != 0) {
    throw MemoryError(cat("shared memory: ", bytes, " bytes cannot be had: ", std::strerror(errno)));
  }
  std::byte* data = map(descriptor.get(), bytes);
  if (data == nullptr) throw MemoryError(cat("shared memory: ", bytes, " bytes cannot be mapped: ", std::strerror(errno)));
  return {std::move(descriptor), data, bytes};
}

SharedSegment SharedSegment::open(std::int64_t process, int descriptor, std::size_t bytes) {
  const Descriptor opened(::open(cat("/proc/", process, "/fd/", descriptor).c_str(), O_RDWR | O_CLOEXEC));
  struct stat status {};
  // A number that now means something else is not mapped: access beyond a file's end would kill this process.
  if (!opened || ::fstat(opened.get(), &status) != 0 || static_cast<std::size_t>(status.st_size) != mapped_bytes(bytes)) return {};
  std::byte* data = map(opened.get(), bytes);
  if (data == nullptr) return {};
  return {Descriptor(), data, bytes};
}

std::byte* SharedSegment::map(int descriptor, std::size_t bytes) {
  void* data = ::mmap(nullptr, mapped_bytes(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) return nullptr;
  ::madvise(data, mapped_bytes(bytes), MADV_DONTFORK);
  return static_cast<std::byte*>(data);
}

SharedSegment::SharedSegment(Descriptor descriptor, std::byte* data, std::size_t bytes)
    : descriptor_(std::move(descriptor)), data_(data), bytes_(bytes) {}

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : descriptor_(std::move(other.descriptor_)), data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedSegment::~SharedSegment() {
  if (data_ != nullptr) ::munmap(data_, mapped_bytes(bytes_));
}

void wait_for_change(const std::uint64_t* number, std::uint64_t seen, std::int64_t nanoseconds) {
  const timespec time{.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000),
                      .tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000)};
  ::syscall(SYS_futex, number, FUTEX_WAIT, static_cast<std::uint32_t>(seen), &time, nullptr, 0);
}

void tell_change(const std::uint64_t* number) { ::syscall(SYS_futex, number, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

}  // namespace resilin::dist
