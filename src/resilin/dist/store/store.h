// src/resilin/dist/store/store.h -- Store: small shared memory of processes that work together, as a blocking client sees it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "resilin/base/api.h"
#include "resilin/base/error.h"
#include "resilin/dist/environment.h"
#include "resilin/dist/store/request.h"

namespace resilin::dist {

/// How long a call waits when it is not told.
inline constexpr std::chrono::milliseconds kStoreTimeout = std::chrono::minutes(5);

/// A client of a store. An implementation is one function, `ask`; the verbs are written over it once.
///
/// Errors   TimeoutError when a wait ends without what it waited for; StoreError when the store refuses a request (key above 1 KiB, value
///          above 1 MiB, a number that is none) or cannot be reached
/// Threads  any thread may call
class RESILIN_API Store {
 public:
  virtual ~Store() = default;
  /// The reply to one request, after at most request.wait_ms and the time that the way takes. A reply may say Invalid; the verbs throw then.
  /// A stop, asked for by any thread, ends it with StoreError at once; what it asked for may be done all the same.
  virtual Reply ask(Request request, std::stop_token stop = {}) = 0;

  void set(std::string_view key, std::string_view bytes);
  /// Waits until the key exists.
  std::string get(std::string_view key, std::chrono::milliseconds timeout = kStoreTimeout);
  std::vector<std::string> multi_get(const std::vector<std::string>& keys, std::chrono::milliseconds timeout = kStoreTimeout);
  /// Adds to a decimal number and gives back the sum; an absent key counts 0.
  std::int64_t add(std::string_view key, std::int64_t amount);
  /// Appends and gives back the new length in bytes.
  std::int64_t append(std::string_view key, std::string_view bytes);
  /// Writes `desired` when the key holds `expected`, or when it is absent and `expected` is empty; gives back what it holds afterwards, and
  /// `expected` when it is absent.
  std::string compare_set(std::string_view key, std::string_view expected, std::string_view desired);
  /// All writes when all compares hold, else none; the reply is Ok or Refused.
  Reply txn(std::vector<Compare> compares, std::vector<Write> writes);
  void wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout = kStoreTimeout);
  /// All keys exist.
  bool check(const std::vector<std::string>& keys);
  /// False when the key was absent.
  bool remove(std::string_view key);
  std::int64_t num_keys();
  /// The keys that begin so, sorted.
  std::vector<std::string> list(std::string_view prefix);
  /// The key's value once its version is another; an absent key has version 0.
  StoreValue watch(std::string_view key, std::uint64_t version, std::chrono::milliseconds timeout = kStoreTimeout);
  /// Puts an item at the end of a queue; gives back its length.
  std::int64_t push(std::string_view queue, std::string_view bytes);
  /// Takes the oldest item; waits for one.
  std::string pop(std::string_view queue, std::chrono::milliseconds timeout = kStoreTimeout);
  std::int64_t queue_length(std::string_view queue);

 protected:
  static StoreError given_up(StoreOp op);

 private:
  Reply checked(Request request);
  Reply waited(Request request, std::chrono::milliseconds timeout);
};

/// A store in this process, for threads; keys bound to a connection are bound to the object.
RESILIN_API std::shared_ptr<Store> make_hash_store(Clock& clock = machine_clock());

/// A store that is a file, for processes without a server; they all name the same path, in a folder that they share. The file stays.
///
/// Errors   UnsupportedError for keys that are bound to a connection or a time
RESILIN_API std::shared_ptr<Store> make_file_store(const std::string& path, Clock& clock = machine_clock());

/// The keys and queues of `base` that begin with `prefix` + "/", without it. num_keys counts those alone.
RESILIN_API std::shared_ptr<Store> make_prefix_store(std::string_view prefix, std::shared_ptr<Store> base);

}  // namespace resilin::dist
