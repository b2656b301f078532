// src/resilin/dist/store/file_store.cpp -- a store that is a file, for processes that share a folder and have no server.
#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/text.h"
#include "resilin/dist/store/check.h"
#include "resilin/dist/store/machine.h"
#include "resilin/dist/store/store.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// How often the file is looked at by who waits; the pause doubles from the first to the second.
constexpr nanoseconds kFirstPause = milliseconds(1);
constexpr nanoseconds kLongestPause = milliseconds(16);

/// Each request is one step of the machine that the file is a snapshot of, under a lock of all processes; the file is replaced as a whole, so one
/// that is killed leaves what was there before its request, or after it.
class FileStore final : public Store {
 public:
  FileStore(std::string path, Clock& clock) : path_(std::move(path)), clock_(clock) {}

  Reply ask(Request request, std::stop_token stop) override {
    for (const Write& write : request.writes) {
      if (write.life == Life::Lasting) continue;
      throw UnsupportedError(cat("file store: key \"", write.key, "\" is to live for a ", enum_name(write.life),
                                 "; a file keeps no leases, the store of an agent does"));
    }
    const std::stop_callback on_stop(stop, [this] {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_.notify_all();
    });
    const nanoseconds end = clock_.now() + milliseconds(std::min(request.wait_ms, kMostWaitMs));
    request.wait_ms = std::min<std::uint64_t>(request.wait_ms, 1);
    nanoseconds pause = kFirstPause;
    while (true) {
      Reply reply = look(request);
      if (reply.status != StoreStatus::Expired || clock_.now() >= end) return reply;
      std::unique_lock<std::mutex> lock(mutex_);
      if (stop.stop_requested()) throw given_up(request.op);
      clock_.wait_until(stopped_, lock, std::min(end, clock_.now() + pause));
      pause = std::min(2 * pause, kLongestPause);
    }
  }

 private:
  static constexpr std::uint64_t kMostWaitMs = std::uint64_t{365} * 24 * 3'600'000;

  /// The request over the file as it is now; Expired when it would have to wait.
  Reply look(const Request& request) const {
    const FileLock lock(path_ + ".lock");
    StoreMachine machine = load();
    machine.step(TimeTold{0});
    std::vector<StoreAnswer> answers = machine.step(RequestArrived{0, 1, request});
    if (answers.empty()) answers = machine.step(TimeTold{request.wait_ms});
    Reply reply = std::move(answers.at(0).reply);
    if (changes_store(request) && reply.status == StoreStatus::Ok) atomic_write(path_, machine.snapshot());
    return reply;
  }

  StoreMachine load() const {
    std::error_code failure;
    if (!std::filesystem::exists(path_, failure)) return StoreMachine();
    return StoreMachine::restore(read_file(path_));
  }

  const std::string path_;
  Clock& clock_;
  std::mutex mutex_;
  std::condition_variable stopped_;
};

}  // namespace

std::shared_ptr<Store> make_file_store(const std::string& path, Clock& clock) {
  if (path.empty()) throw ArgumentError("make_file_store: the path is empty; a file in a folder that all members share is needed");
  return std::make_shared<FileStore>(path, clock);
}

}  // namespace resilin::dist
