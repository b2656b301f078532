// src/resilin/dist/transport/ucx/mail.h -- Internal: messages and their receives, made of single pieces that UCX carries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "resilin/dist/transport/ucx/plugin.h"

namespace resilin::dist::ucx {

/// What comes with the bytes that a rank sends.
struct Header {
  enum class Kind : std::uint8_t {
    Note,
    Announce,  // first: the tag, second: the size, third: the sender's number of a message that waits for an answer
    Wanted,    // first: that number, second: the receiver's number, or 0 when no bytes are wanted
    Piece,     // first: the receiver's number, second: the place of the bytes
    Greeting,  // the sender's side of the connection stands
    Message,   // first: the tag; all of its bytes
  };
  Kind kind = Kind::Note;
  int sender = -1;  // not of a piece
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t third = 0;
};

/// Pieces begin at multiples of it.
inline constexpr std::size_t kPieceUnit = 8192;

enum class Carried { Done, Later, Lost };

/// What Mail needs of the connections.
class Carrier {
 public:
  virtual ~Carrier() = default;
  /// Sends to a peer. Later: the bytes stay as they are until `Mail::carried` of `outgoing`, if that is not 0. Lost: they go nowhere.
  virtual Carried carry(int peer, const Header& header, std::span<const std::byte> bytes, std::uint64_t outgoing) = 0;
  virtual bool is_lost(int peer) const = 0;
  /// The most bytes that UCX carries to this peer in one piece, a multiple of kPieceUnit.
  virtual std::size_t piece_bytes(int peer) const = 0;
};

/// The rank that gave a message its tag.
constexpr int sender_of(std::uint64_t tag) { return static_cast<int>(tag >> 36 & (kMostRanks - 1)); }

/// UCX's own receives are not used: what a lost peer has begun would stay in UCX, which knows the receiver's memory, until the worker ends. Here a
/// receive's memory is known to nobody but this object, which lets go of it at any moment.
///
/// Messages of one piece go out at once and wait at the receiver; longer ones are announced and wait at the sender.
class Mail {
 public:
  explicit Mail(Carrier& carrier) : carrier_(carrier) {}

  void send(const UcxMessage& message, Pending& pending);
  void receive(const UcxMessage& message, Pending& pending);

  /// Where so many bytes that come with this header belong; empty when that is not known yet.
  std::span<std::byte> place_of(const Header& header, std::size_t count);
  /// What has come; bytes that are not in their place are copied.
  void on_message(const Header& header, std::span<const std::byte> bytes);
  void on_announce(const Header& header);
  void on_wanted(const Header& header);
  void on_piece(const Header& header, std::span<const std::byte> bytes);
  /// The bytes of a carry that gave Later are free again, after what became of it.
  void carried(std::uint64_t outgoing, TransferFault fault);

  /// Sends more of what is wanted; true when it did.
  bool pump();
  /// Whether `pump` would do something.
  bool has_more() const;
  /// Ends what a peer that the carrier now calls lost is needed for; sends that are still carried end with that.
  void lose(int peer);
  /// Ends everything, when nothing is carried any more.
  void end_all();

 private:
  struct Incoming {
    int peer;
    std::byte* bytes;
    std::size_t count;  // first the room, then the size of the message
    std::size_t arrived;
    Pending* pending;
  };
  /// Without a receive yet: the bytes, or an announcement of so many.
  struct Waiting {
    std::vector<std::byte> bytes;
    std::uint64_t announced_bytes;
    std::uint64_t number;  // the sender's; 0: not announced
  };
  struct Outgoing {
    int peer;
    const std::byte* bytes;
    std::size_t count;
    std::size_t next;        // all before it is on its way
    std::uint64_t receiver;  // its number; 0: not wanted yet
    int in_flight;
    TransferFault fault;
    Pending* pending;
  };

  static bool has_room(const Incoming& receive, std::uint64_t place, std::size_t count);
  void take(const Incoming& receive, std::span<const std::byte> bytes);
  void begin(Incoming receive, std::uint64_t size, std::uint64_t number);
  bool stream(std::uint64_t number, Outgoing& outgoing);
  void finish(std::map<std::uint64_t, Outgoing>::iterator outgoing);

  Carrier& carrier_;
  std::uint64_t last_number_ = 0;
  // By tag, of which equal ones stay in their order.
  std::multimap<std::uint64_t, Incoming> posted_;
  std::multimap<std::uint64_t, Waiting> waiting_;
  // By number.
  std::unordered_map<std::uint64_t, Incoming> incoming_;
  std::map<std::uint64_t, Outgoing> outgoing_;
  std::vector<std::uint64_t> wanted_;  // of outgoing_, what is not on its way yet
};

}  // namespace resilin::dist::ucx
