// src/resilin/dist/security/secret.cpp -- the job's secret made and read.
#include "resilin/dist/security/secret.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/os/descriptor.h"

namespace resilin::dist {
namespace {

constexpr std::size_t kSecretBytes = sizeof(Digest);

std::string reason(int error) { return std::generic_category().message(error); }

void check_file(const std::string& path, const struct stat& status) {
  if (!S_ISREG(status.st_mode)) throw IoError(cat("secret: not a regular file: ", path, "; a file of 32 bytes is needed"));
  if (status.st_uid != geteuid()) {
    throw IoError(
        cat("secret: the file is another user's: ", path, " belongs to user ", status.st_uid, "; it must be of user ", geteuid()));
  }
  if ((status.st_mode & 0177) != 0) {
    constexpr char kOctal[] = "01234567";
    const std::string mode = {'0', kOctal[status.st_mode >> 6 & 7], kOctal[status.st_mode >> 3 & 7], kOctal[status.st_mode & 7]};
    throw IoError(cat("secret: others may use the file: ", path, " has mode ", mode, "; it must be 0600 or 0400"));
  }
  if (status.st_size != static_cast<off_t>(kSecretBytes)) {
    throw IoError(cat("secret: the file has ", status.st_size, " bytes: ", path, "; it must have ", kSecretBytes));
  }
}

}  // namespace

JobSecret JobSecret::make() {
  JobSecret secret;
  fill_unguessable(secret.bytes_.data(), kSecretBytes);
  return secret;
}

JobSecret JobSecret::of_bytes(std::string_view bytes) {
  if (bytes.size() != kSecretBytes) throw ArgumentError(cat("secret: ", bytes.size(), " bytes; it must have ", kSecretBytes));
  JobSecret secret;
  std::memcpy(secret.bytes_.data(), bytes.data(), kSecretBytes);
  return secret;
}

// Read by position: several processes share the descriptor's own.
JobSecret JobSecret::of_descriptor(int descriptor) {
  JobSecret secret;
  std::size_t done = 0;
  while (done < kSecretBytes) {
    const ssize_t count = pread(descriptor, secret.bytes_.data() + done, kSecretBytes - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw IoError(cat("secret: descriptor ", descriptor, " cannot be read: ", reason(errno), "; it must hold 32 bytes"));
    if (count == 0) throw IoError(cat("secret: descriptor ", descriptor, " holds ", done, " bytes; it must hold ", kSecretBytes));
    done += static_cast<std::size_t>(count);
  }
  return secret;
}

JobSecret JobSecret::of_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) throw IoError(cat("secret: ", reason(errno), ": ", path, "; a file of 32 bytes is needed"));
  struct stat status;
  if (fstat(file.get(), &status) != 0) throw IoError(cat("secret: ", reason(errno), ": ", path, "; the file must be accessible"));
  check_file(path, status);
  return of_descriptor(file.get());
}

void fill_unguessable(void* data, std::size_t size_bytes) {
  std::uint8_t* at = static_cast<std::uint8_t*>(data);
  while (size_bytes > 0) {
    const ssize_t count = getrandom(at, size_bytes, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw UnsupportedError(cat("secret: the system gives no random numbers: ", reason(errno), "; getrandom is needed"));
    at += count;
    size_bytes -= static_cast<std::size_t>(count);
  }
}

}  // namespace resilin::dist
