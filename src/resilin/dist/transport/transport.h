// src/resilin/dist/transport/transport.h -- Internal: the engine below collectives: one process's end of a mesh of ranks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace resilin::dist {

/// What data messages of one pair are matched by, besides their sender: equal tags match in the order in which they were sent.
struct Tag {
  enum class Traffic : std::uint8_t { Frame, Payload, PointToPoint };
  Traffic traffic = Traffic::Frame;
  std::uint16_t group = 0;   // 12 bits
  std::uint64_t number = 0;  // 36 bits: sequence and lane of a collective, or the user's tag
  friend bool operator==(const Tag&, const Tag&) = default;
};
inline constexpr std::uint64_t kMostTagNumber = (std::uint64_t{1} << 36) - 1;
inline constexpr std::uint16_t kMostTagGroup = (1 << 12) - 1;
inline constexpr int kMostRanks = 1 << 14;

/// The tag and its sender as one number: traffic 2 bits, group 12, sender 14, number 36.
constexpr std::uint64_t pack_tag(const Tag& tag, int sender) {
  return static_cast<std::uint64_t>(tag.traffic) << 62 | static_cast<std::uint64_t>(tag.group) << 50 |
         static_cast<std::uint64_t>(sender) << 36 | tag.number;
}

/// Why a request did not do what it was asked for.
enum class TransferFault : std::uint8_t { None, PeerLost, TooLong, Cancelled };

/// What the requests of one moment have in common; it must outlive them. Each send and receive adds one to `open` and each end, which may come
/// before the call returns, takes one away.
struct Pending {
  int open = 0;
  TransferFault fault = TransferFault::None;  // of the first that failed
  int faulty_peer = -1;
  std::uint64_t received_bytes = 0;  // by all receives

  bool is_done() const { return open == 0; }
  void end(TransferFault why, int peer, std::uint64_t bytes) {
    --open;
    received_bytes += bytes;
    if (fault == TransferFault::None && why != TransferFault::None) {
      fault = why;
      faulty_peer = peer;
    }
  }
};

/// What a transport tells from inside `progress`.
struct TransportEvents {
  /// A note of `peer` has come, in the order of its sending.
  std::function<void(int peer, std::string_view bytes)> note;
  /// The engine has found out that a peer is gone or cannot be reached, or `give_up` has said so; its requests end as PeerLost. Once a peer,
  /// after the notes that came before.
  std::function<void(int peer, const std::string& why)> lost;
};

inline constexpr std::size_t kMostNoteBytes = 4096;

/// One rank's connections of one generation. It moves bytes between ranks: data messages, which wait for a receive of the same tag, and notes,
/// which are handed over as they come.
///
/// Threads  one at a time, but for `wake`
/// Errors   UnsupportedError, StoreError and VersionError when it cannot be made or connected; nothing else throws: faults end requests
class Transport {
 public:
  virtual ~Transport() = default;

  /// What a peer needs to connect to this rank: a few hundred bytes.
  virtual std::string address() const = 0;
  /// Names this rank's number and the number of ranks; once, before the first connect.
  virtual void join(int rank, int size) = 0;
  /// Begins to connect to a peer's address; to itself too is possible. What is sent before the connection stands goes out once it does.
  virtual void connect(int peer, std::string_view address) = 0;

  /// The bytes stay where they are and as they are until the request ends, which does not say that they have arrived: both sides go on with
  /// progress until they know by other means. No bytes are possible.
  virtual void send(int peer, const Tag& tag, std::span<const std::byte> bytes, Pending& pending) = 0;
  /// Takes a message of at most so many bytes; a longer one ends it as TooLong.
  virtual void receive(int peer, const Tag& tag, std::span<std::byte> bytes, Pending& pending) = 0;
  /// Sends at most kMostNoteBytes, which are copied. A note to a lost peer goes nowhere.
  virtual void send_note(int peer, std::string_view bytes) = 0;

  /// Does what can be done without waiting; true when something was done.
  virtual bool progress() = 0;
  /// Ends all requests of a peer as PeerLost, as if the engine had found out, at once or in the progress that follows; later ones end at once.
  virtual void give_up(int peer, const std::string& why) = 0;
  /// Closes all connections by force and returns when every request has ended, as Cancelled where its peer is not lost: nothing reads or writes
  /// the caller's memory any more. Nothing is told any more, and only the destructor is to be called after it.
  virtual void close() = 0;

  /// Becomes readable when progress finds something to do, provided `arm` was called and said yes since the last progress. When `arm` says no,
  /// there is something to do already.
  virtual int wake_descriptor() const = 0;
  virtual bool arm() = 0;
  /// Makes the descriptor readable, from any thread.
  virtual void wake() = 0;

  /// "posix cma tcp/lo": what the way to a peer is made of.
  virtual std::string lanes(int peer) const = 0;
};

/// Makes the transport of a next generation; the old one works on meanwhile.
using TransportMaker = std::function<std::unique_ptr<Transport>(TransportEvents events)>;

}  // namespace resilin::dist
