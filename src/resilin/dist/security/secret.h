// src/resilin/dist/security/secret.h -- Internal: the job's secret, which every connection is opened with.
#pragma once

#include <string>
#include <string_view>

#include "resilin/dist/security/sha256.h"

namespace resilin::dist {

/// 32 random bytes that all processes of a job know and nobody else. They come from a file or an inherited descriptor, never from an
/// argument or the environment, and are never printed.
class JobSecret {
 public:
  /// A new one, of the system's random numbers.
  static JobSecret make();
  /// Of these 32 bytes; ArgumentError otherwise.
  static JobSecret of_bytes(std::string_view bytes);
  /// Read from the start of what the descriptor is open on, which stays open.
  static JobSecret of_descriptor(int descriptor);
  /// Read from a file of exactly 32 bytes that its owner alone may read or write: mode 0600 or 0400, owned by this user.
  /// IoError when the file says otherwise.
  static JobSecret of_file(const std::string& path);

  JobSecret(const JobSecret&) = default;
  JobSecret& operator=(const JobSecret&) = default;
  ~JobSecret() { wipe(bytes_.data(), bytes_.size()); }

  std::string_view bytes() const { return as_bytes(bytes_); }

 private:
  JobSecret() = default;
  Digest bytes_{};
};

/// Fills with random numbers of the system that nobody can guess.
void fill_unguessable(void* data, std::size_t size_bytes);

}  // namespace resilin::dist
