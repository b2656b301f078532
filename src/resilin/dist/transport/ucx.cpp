// src/resilin/dist/transport/ucx.cpp -- a Transport by the functions of the UCX plug-in.
#include "resilin/dist/transport/ucx.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <net/if.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/text.h"
#include "resilin/dist/environment.h"
#include "resilin/dist/transport/address.h"
#include "resilin/dist/transport/peer_processes.h"
#include "resilin/dist/transport/plugin.h"

namespace resilin::dist {
namespace {

/// UCX may end the process when it runs out of descriptors. A peer takes one of UCX's and one that tells of the end of its process.
constexpr std::size_t kSpareDescriptors = 64;
constexpr std::size_t kDescriptorsOfPeer = 2;
/// How often the processes of peers are looked at while nobody sleeps.
constexpr std::chrono::nanoseconds kLookInterval = std::chrono::milliseconds(1);
/// How long `close` waits for peers that have not come as far as to be connected.
constexpr std::chrono::nanoseconds kLongestFarewell = std::chrono::milliseconds(300);
constexpr std::size_t kMostTextBytes = std::size_t{1} << 16;

std::size_t open_descriptors() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) throw UnsupportedError("ucx: /proc/self/fd cannot be read; descriptors to spare must be counted there");
  std::size_t count = 0;
  while (const dirent* const entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  return count - 1;  // without that of the folder itself
}

void require_descriptors(std::size_t needed) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t open = open_descriptors();
  if (limit.rlim_cur == RLIM_INFINITY || open + needed <= limit.rlim_cur) return;
  throw UnsupportedError(cat("ucx: too few file descriptors: ", open, " are open, ", needed, " more may be needed, the limit is ",
                             static_cast<std::uint64_t>(limit.rlim_cur), "; ulimit -n must allow ", open + needed));
}

template <class Fill>
std::string filled(Fill fill) {
  std::string text(kMostTextBytes, '\0');
  text.resize(std::min(fill(text.data(), text.size()), text.size()));
  return text;
}

/// Whether the words of `lanes` include this one.
bool has_lane(std::string_view lanes, std::string_view lane) { return cat(" ", lanes, " ").find(cat(" ", lane, " ")) != std::string::npos; }

/// UCX finds interfaces in sysfs. Without it ranks of one host still have shared memory, and others cannot be reached.
bool sees_interface(const UcxOptions& options) { return std::filesystem::exists(cat("/sys/class/net/", options.interface)); }

const char* transports_of(const UcxOptions& options) {
  if (!options.shared_memory) return "tcp";
  return sees_interface(options) ? "posix,tcp" : "posix";
}

class UcxTransport final : public Transport {
 public:
  UcxTransport(const UcxTable& table, const UcxOptions& options, TransportEvents events)
      : table_(table), options_(options), events_(std::move(events)) {
    require_descriptors(kSpareDescriptors);
    const std::string folder = ucx_folder();
    const UcxSettings settings = {transports_of(options_), options_.interface.c_str(), folder.c_str()};
    UcxError error{};
    worker_ = table_.make(&settings, &error);
    if (worker_ == nullptr) throw UnsupportedError(cat("ucx: ", error.text, "; the transports must be there and allowed"));
    try {
      processes_.emplace(table_.wake_descriptor(worker_));
    } catch (const UnsupportedError&) {
      table_.destroy(worker_);
      throw;
    }
  }
  ~UcxTransport() override { close(); }
  UcxTransport(const UcxTransport&) = delete;
  UcxTransport& operator=(const UcxTransport&) = delete;

  std::string address() const override {
    TransportAddress address{engine(), own_place(), "", ::getpid()};
    address.bytes = filled([&](char* bytes, std::size_t most) { return table_.address(worker_, bytes, most); });
    return pack_address(address);
  }
  void join(int rank, int size) override {
    RESILIN_ASSERT(size_ == 0 && size >= 1 && size <= kMostRanks && rank >= 0 && rank < size, cat("rank ", rank, " of ", size));
    require_descriptors(kSpareDescriptors + kDescriptorsOfPeer * static_cast<std::size_t>(size));
    rank_ = rank;
    size_ = size;
    table_.join(worker_, rank, size);
  }
  void connect(int peer, std::string_view bytes) override {
    RESILIN_ASSERT(peer >= 0 && peer < size_, cat("peer ", peer, " of ", size_));
    const TransportAddress address = unpack_address(bytes, peer, engine());
    UcxError error{};
    if (table_.connect(worker_, peer, address.bytes.data(), address.bytes.size(), &error) != 0) {
      throw StoreError(
          cat("ucx: rank ", peer, " cannot be connected: ", error.text, "; ", "its interface must be reachable from ", options_.interface));
    }
    require_lanes(peer, address.place);
    if (address.place == own_place() && address.process != ::getpid()) processes_->watch(peer, address.process);
  }

  void send(int peer, const Tag& tag, std::span<const std::byte> bytes, Pending& pending) override {
    const UcxMessage message = {peer, pack_tag(tag, rank_), const_cast<std::byte*>(bytes.data()), bytes.size()};
    table_.send(worker_, &message, &pending);
  }
  void receive(int peer, const Tag& tag, std::span<std::byte> bytes, Pending& pending) override {
    const UcxMessage message = {peer, pack_tag(tag, peer), bytes.data(), bytes.size()};
    table_.receive(worker_, &message, &pending);
  }
  void send_note(int peer, std::string_view bytes) override {
    RESILIN_ASSERT(bytes.size() <= kMostNoteBytes, cat("a note of ", bytes.size(), " bytes"));
    table_.send_note(worker_, peer, bytes.data(), bytes.size());
  }

  bool progress() override {
    const bool moved = progress_once();
    // What a peer sent before its end comes first.
    return moved || lose_ended_processes();
  }
  void give_up(int peer, const std::string& why) override { table_.give_up(worker_, peer, why.c_str()); }
  void close() override;

  int wake_descriptor() const override { return processes_->descriptor(); }
  bool arm() override {
    next_look_ = std::chrono::nanoseconds(0);
    return table_.arm(worker_) != 0;
  }
  void wake() override { table_.wake(worker_); }

  std::string lanes(int peer) const override {
    return read_lanes(filled([&](char* text, std::size_t most) { return table_.lanes(worker_, peer, text, most); }));
  }

 private:
  std::string engine() const { return cat("ucx ", table_.engine_version()); }
  void require_lanes(int peer, std::uint64_t place) const;
  bool progress_once();
  bool tell_events();
  bool lose_ended_processes();
  void tell(const UcxEvent& event);

  const UcxTable& table_;
  const UcxOptions options_;
  const TransportEvents events_;
  UcxWorker* worker_ = nullptr;
  int rank_ = -1;
  int size_ = 0;
  bool closed_ = false;
  std::optional<PeerProcesses> processes_;
  std::chrono::nanoseconds next_look_{0};
};

bool UcxTransport::progress_once() {
  const bool moved = table_.progress(worker_) != 0;
  return tell_events() || moved;
}

bool UcxTransport::tell_events() {
  bool moved = false;
  UcxEvent event{};
  // An event may close the transport.
  while (!closed_ && table_.next_event(worker_, &event) != 0) {
    moved = true;
    tell(event);
  }
  return moved;
}

bool UcxTransport::lose_ended_processes() {
  if (closed_ || machine_clock().now() < next_look_) return false;
  next_look_ = machine_clock().now() + kLookInterval;
  const std::optional<int> peer = processes_->next_ended();
  if (!peer) return false;
  table_.give_up(worker_, *peer, "its process is gone");
  tell_events();
  next_look_ = std::chrono::nanoseconds(0);  // for the next of them
  return true;
}

/// UCX takes any setting without a word and goes other ways when one has no effect.
void UcxTransport::require_lanes(int peer, std::uint64_t place) const {
  const std::string made_of = lanes(peer);
  const bool shares_memory = options_.shared_memory && place == own_place();
  const std::string wanted = shares_memory ? "posix" : cat("tcp/", options_.interface);
  if (has_lane(made_of, wanted)) return;
  throw StoreError(cat("ucx: the connection to rank ", peer, " has the lanes \"", made_of, "\"; ", wanted, " must be among them",
                       shares_memory ? ", since both ranks are of one host" : ""));
}

void UcxTransport::tell(const UcxEvent& event) {
  const std::string_view bytes(event.bytes, event.count);
  if (event.lost != 0) {
    if (events_.lost) events_.lost(event.peer, std::string(bytes));
  } else if (events_.note) {
    events_.note(event.peer, bytes);
  }
}

/// Peers that are still connecting get the time to come to an end.
void UcxTransport::close() {
  if (closed_) return;
  closed_ = true;
  const std::chrono::nanoseconds last = machine_clock().now() + kLongestFarewell;
  while (table_.connecting_peers(worker_) != 0 && machine_clock().now() < last) {
    table_.progress(worker_);
    while (const std::optional<int> peer = processes_->next_ended()) table_.give_up(worker_, *peer, "its process is gone");
  }
  table_.destroy(std::exchange(worker_, nullptr));
}

/// A segment loses its name milliseconds after it got it, so an old one is nobody's.
void clean_folder(const std::string& folder) {
  std::error_code failed;
  const std::filesystem::file_time_type recent = std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1);
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::filesystem::file_time_type written = entry.last_write_time(failed);
    if (!failed && written < recent) std::filesystem::remove(entry.path(), failed);
  }
}

}  // namespace

std::string ucx_folder() { return cat("/dev/shm/resilin-", geteuid(), "/ucx"); }

std::string read_lanes(std::string_view printed) {
  std::string lanes;
  for (std::size_t at = printed.find("lane["); at != std::string_view::npos; at = printed.find("lane[", at + 1)) {
    // "lane[0]:  2:tcp/lo.0 md[1] ...", of which "tcp/lo" is wanted.
    std::string_view rest = printed.substr(at, printed.find('\n', at) - at);
    rest.remove_prefix(std::min(rest.size(), rest.find(':') + 1));
    rest.remove_prefix(std::min(rest.size(), rest.find(':') + 1));
    std::string_view lane = rest.substr(0, rest.find(' '));
    lane = lane.substr(0, lane.rfind('.'));
    if (lane.ends_with("/memory")) lane.remove_suffix(std::string_view("/memory").size());
    if (!lane.empty() && !has_lane(lanes, lane)) lanes += lanes.empty() ? std::string(lane) : cat(" ", lane);
  }
  return lanes;
}

TransportMaker ucx_transport(const UcxOptions& options) {
  if (if_nametoindex(options.interface.c_str()) == 0) {
    throw UnsupportedError(cat("ucx: there is no network interface \"", options.interface, "\"; it must be one of this host's"));
  }
  if (!options.shared_memory && !sees_interface(options)) {
    throw UnsupportedError(
        cat("ucx: /sys/class/net/", options.interface, " is not there, where UCX looks for interfaces; sysfs must be mounted"));
  }
  if (options.shared_memory) {
    try {
      ensure_directory(ucx_folder());
    } catch (const IoError& error) {
      throw UnsupportedError(cat("ucx: shared memory needs a folder: ", error.what()));
    }
    clean_folder(ucx_folder());
  }
  const UcxTable& table = ucx_plugin();
  return [&table, options](TransportEvents events) -> std::unique_ptr<Transport> {
    return std::make_unique<UcxTransport>(table, options, std::move(events));
  };
}

}  // namespace resilin::dist
