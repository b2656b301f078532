// src/resilin/dist/transport/ucx/worker.h -- Internal: a UCX worker, its endpoints and what they carry.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ucp/api/ucp.h>

#include "resilin/dist/transport/ucx/mail.h"
#include "resilin/dist/transport/ucx/plugin.h"

namespace resilin::dist::ucx {

/// What UcxTable says of a worker. UCX calls back from inside any of its functions, so a callback only notes what has happened; what follows of
/// it waits until UCX has returned.
///
/// UCX 1.13 may end a process when the side that it is connecting to by TCP goes away at that moment. So each rank greets those that it has
/// connected to, and a worker is best destroyed when all have greeted it.
class Worker final : private Carrier {
 public:
  /// Throws Refusal.
  explicit Worker(const UcxSettings& settings);
  ~Worker() override;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const std::string& address() const { return address_; }
  std::string lanes(int peer) const;
  void join(int rank, int size);
  /// Throws Refusal.
  void connect(int peer, std::string_view address);

  void send(const UcxMessage& message, Pending& pending) { mail_.send(message, pending); }
  void receive(const UcxMessage& message, Pending& pending) { mail_.receive(message, pending); }
  void send_note(int peer, std::string_view bytes);
  bool progress();
  bool next_event(UcxEvent& event);
  void give_up(int peer, const std::string& why);
  /// Those that may be connecting to this worker at this moment.
  int connecting_peers() const;

  int wake_descriptor() const { return wake_descriptor_; }
  bool arm();
  void wake() { ucp_worker_signal(worker_); }

 private:
  /// What is on its way into UCX.
  struct Parcel {
    Worker* worker = nullptr;
    int peer = -1;
    std::uint64_t label = 0;
    std::span<const std::byte> bytes;
    std::string own;  // the bytes of all but messages and pieces
    std::uint64_t outgoing = 0;
    std::list<Parcel>::iterator place;
  };
  struct Peer {
    Worker* worker = nullptr;
    int rank = -1;
    ucp_ep_h endpoint = nullptr;
    std::size_t piece_bytes = 0;
    bool lost = false;
    std::list<Parcel> early;  // asked for before it was connected
  };
  struct Event {
    int peer;
    bool lost;
    std::string bytes;
  };
  struct Failure {
    int peer;
    ucs_status_t status;
  };
  struct Delivery {
    std::uint64_t outgoing;
    TransferFault fault;
  };

  Carried carry(int peer, const Header& header, std::span<const std::byte> bytes, std::uint64_t outgoing) override;
  bool is_lost(int peer) const override { return peers_[static_cast<std::size_t>(peer)].lost; }
  std::size_t piece_bytes(int peer) const override { return peers_[static_cast<std::size_t>(peer)].piece_bytes; }

  static void on_sent(void* handle, ucs_status_t status, void* parcel);
  static void on_stray(void* handle, ucs_status_t status, const ucp_tag_recv_info_t* info, void* bytes);
  static void on_failure(void* peer, ucp_ep_h endpoint, ucs_status_t status);

  void listen();
  Parcel& pack(Peer& peer, const Header& header, std::string_view own_bytes);
  Carried post(Parcel& parcel);
  void posted(Parcel& parcel, ucs_status_t status);
  bool deliver();
  bool drain();
  void arrived(const Header& header, std::span<const std::byte> bytes);
  void close_endpoint(Peer& peer);

  ucp_worker_h worker_ = nullptr;
  std::string address_;
  int wake_descriptor_ = -1;
  int rank_ = -1;
  bool closing_ = false;
  std::vector<Peer> peers_;
  std::list<Parcel> open_;  // UCX has them
  std::list<Parcel> spare_;
  Mail mail_{*this};
  std::vector<bool> greeted_by_;  // by rank; may come before the ranks are numbered
  // Noted, not yet acted upon.
  std::vector<Delivery> deliveries_;
  std::vector<Failure> failures_;
  std::vector<std::byte> arrival_;              // that has no place of its own
  std::vector<std::vector<std::byte>> strays_;  // UCX may still write there
  std::deque<Event> events_;
  std::string told_;  // the bytes of the event that was asked for last
};

}  // namespace resilin::dist::ucx
