// src/resilin/base/error.h -- the exception types of the engine and the one assertion macro.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "resilin/base/api.h"

namespace resilin {

/// Base of every exception the engine throws: one message, extended on its way up by `context`.
class RESILIN_API Error : public std::exception {
 public:
  explicit Error(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

  /// Appends where the error happened (op, scope, line) and gives back the same error.
  Error& context(const std::string& where);

 private:
  std::string message_;
};

/// Sizes do not fit.
class RESILIN_API ShapeError : public Error {
  using Error::Error;
};
/// A dtype is not accepted.
class RESILIN_API DtypeError : public Error {
  using Error::Error;
};
/// A value is out of its range.
class RESILIN_API ArgumentError : public Error {
  using Error::Error;
};
/// A position lies outside an axis.
class RESILIN_API IndexError : public Error {
  using Error::Error;
};
/// Not positive definite, no convergence, division of integers by zero.
class RESILIN_API NumericError : public Error {
  using Error::Error;
};
/// An unknown size would have to decide.
class RESILIN_API DataDependentError : public Error {
  using Error::Error;
};
/// True in principle, absent here; the message says what is missing.
class RESILIN_API UnsupportedError : public Error {
  using Error::Error;
};
/// An allocation was refused.
class RESILIN_API MemoryError : public Error {
  using Error::Error;
};
/// A file, checkpoint or cache could not be read or written.
class RESILIN_API IoError : public Error {
  using Error::Error;
};
/// Which group, generation and collective an error of several processes is about, and which ranks; what is not known keeps its default.
struct DistPlace {
  std::string group;
  std::uint64_t generation = 0;
  std::uint64_t sequence = 0;
  std::vector<std::int64_t> ranks;
};

/// Base of the errors of processes that work together.
class RESILIN_API DistError : public Error {
 public:
  explicit DistError(std::string message, DistPlace place = {}) : Error(std::move(message)), place_(std::move(place)) {}
  const DistPlace& place() const { return place_; }

 private:
  DistPlace place_;
};
/// A deadline passed before the answer came.
class RESILIN_API TimeoutError : public DistError {
  using DistError::DistError;
};
/// A store refused a request or could not be reached.
class RESILIN_API StoreError : public DistError {
  using DistError::DistError;
};
/// The other side speaks another version, or bytes were written by one.
class RESILIN_API VersionError : public DistError {
  using DistError::DistError;
};
/// A new generation of a group did not come about; the old one is what it was.
class RESILIN_API ReconfigureError : public DistError {
  using DistError::DistError;
};

/// A rank died or cannot be reached, so what needed it cannot end.
class RESILIN_API PeerError : public DistError {
  using DistError::DistError;
};
/// A rank left in good order, so what needed it cannot end.
class RESILIN_API PeerLeftError : public PeerError {
  using PeerError::PeerError;
};
/// Ranks of a group ran different collectives under one number.
class RESILIN_API MismatchError : public DistError {
  using DistError::DistError;
};
/// The generation ended before the work did: it was aborted here, revoked elsewhere, or replaced by the next one.
class RESILIN_API CancelledError : public DistError {
  using DistError::DistError;
};
/// Memory of a generation that was replaced: its window ended with it.
class RESILIN_API StaleError : public DistError {
  using DistError::DistError;
};
/// This process is no member any more; only a new life of it may come back.
class RESILIN_API EvictedError : public DistError {
  using DistError::DistError;
};
/// A step of training failed on its ranks' own, more often than is tried.
class RESILIN_API StepFailedError : public DistError {
  using DistError::DistError;
};
/// This rank's state is not that of the majority, or there is no majority.
class RESILIN_API DivergedError : public DistError {
  using DistError::DistError;
};
/// A callback waits for what can only end after it.
class RESILIN_API WouldBlockError : public DistError {
  using DistError::DistError;
};

/// A bug of the engine itself; only RESILIN_ASSERT throws it.
class RESILIN_API InternalError : public Error {
  using Error::Error;
};

/// Throws the InternalError of a failed assertion.
[[noreturn]] RESILIN_API void fail_assertion(const char* condition, const char* file, int line, const std::string& detail);

}  // namespace resilin

/// Throws InternalError with file, line, condition and the detail text when `condition` is false.
#define RESILIN_ASSERT(condition, detail) \
  do { \
    if (!(condition)) ::resilin::fail_assertion(#condition, __FILE__, __LINE__, (detail)); \
  } while (false)
