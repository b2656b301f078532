// src/resilin/dist/transport/ucx/worker.h -- Internal: a UCX worker, its endpoints and its open requests.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ucp/api/ucp.h>

#include "resilin/dist/transport/ucx/plugin.h"

namespace resilin::dist::ucx {

/// What UcxTable says of a worker. UCX calls back from inside `progress`; what has to be told, and every close of an endpoint, waits until UCX
/// has returned.
///
/// When one side of a connection goes away while the other still establishes it, UCX 1.13 may end the process of the other. So each side greets
/// the other through the finished connection, and closes it after the greeting of the other unless it is broken anyway.
class Worker {
 public:
  /// Throws Refusal.
  explicit Worker(const UcxSettings& settings);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const std::string& address() const { return address_; }
  std::string lanes(int peer) const;
  void join(int rank, int size);
  /// Throws Refusal.
  void connect(int peer, std::string_view address);

  void send(const UcxMessage& message, Pending& pending);
  void receive(const UcxMessage& message, Pending& pending);
  void send_note(int peer, std::string_view bytes);
  bool progress();
  bool next_event(UcxEvent& event);
  void give_up(int peer, const std::string& why);
  /// Peers that would be harmed if this side were closed now.
  int connecting_peers() const;

  int wake_descriptor() const { return wake_descriptor_; }
  bool arm();
  void wake() { ucp_worker_signal(worker_); }

 private:
  struct Request {
    Worker* worker = nullptr;
    Pending* pending = nullptr;  // null of a note
    int peer = -1;
    bool receives = false;
    void* handle = nullptr;  // UCX's, null until it is known
    std::string note;
    std::list<Request>::iterator place;
  };
  struct Peer {
    Worker* worker = nullptr;
    int rank = -1;
    ucp_ep_h endpoint = nullptr;
    bool greeted = false;  // it has said that its side of the connection stands
    bool lost = false;
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

  static void on_sent(void* handle, ucs_status_t status, void* request);
  static void on_received(void* handle, ucs_status_t status, const ucp_tag_recv_info_t* info, void* request);
  static ucs_status_t on_note(void* worker, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                              const ucp_am_recv_param_t* param);
  static ucs_status_t on_greeting(void* worker, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                                  const ucp_am_recv_param_t* param);
  static void on_failure(void* peer, ucp_ep_h endpoint, ucs_status_t status);

  void listen();
  void hear(unsigned id, ucp_am_recv_callback_t callback);
  void greet(Peer& peer);
  Request& open(int peer, Pending* pending, bool receives);
  void started(Request& request, ucs_status_ptr_t handle);
  void ended(Request& request, ucs_status_t status, std::size_t received_bytes);
  TransferFault fault_of(int peer, ucs_status_t status);
  void lose(int peer, const std::string& why);
  void close_endpoint(Peer& peer);
  void cancel_receives(int peer);

  ucp_worker_h worker_ = nullptr;
  std::string address_;
  int wake_descriptor_ = -1;
  std::int32_t rank_ = -1;
  bool closing_ = false;
  std::vector<Peer> peers_;
  std::list<Request> open_;
  std::list<Request> spare_;
  // Seen by UCX, not yet acted upon.
  std::vector<Failure> failures_;
  std::vector<int> greetings_;
  std::deque<Event> events_;
  std::string told_;  // the bytes of the event that was asked for last
};

}  // namespace resilin::dist::ucx
