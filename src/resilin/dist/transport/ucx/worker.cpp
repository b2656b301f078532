// src/resilin/dist/transport/ucx/worker.cpp -- requests and failures of a UCX worker.
#include "resilin/dist/transport/ucx/worker.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "resilin/dist/transport/ucx/context.h"

namespace resilin::dist::ucx {
namespace {

constexpr unsigned kNoteId = 0;
constexpr unsigned kGreetingId = 1;

std::string describe(ucs_status_t status) {
  switch (status) {
    case UCS_ERR_CONNECTION_RESET: return "the connection was reset by the other side";
    case UCS_ERR_REJECTED: return "the connection was refused";
    case UCS_ERR_UNREACHABLE: return "its address cannot be reached";
    case UCS_ERR_ENDPOINT_TIMEOUT: return "its process is gone or its connection is broken";
    default: return std::string("the connection failed: ") + ucs_status_string(status);
  }
}

ucp_request_param_t request_params(void* user_data) {
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  params.user_data = user_data;
  params.memory_type = UCS_MEMORY_TYPE_HOST;
  return params;
}

}  // namespace

Worker::Worker(const UcxSettings& settings) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_FLAGS;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  params.flags = UCP_WORKER_FLAG_IGNORE_REQUEST_LEAK;
  require_ok(ucp_worker_create(context_of(settings), &params, &worker_), "ucp_worker_create");
  try {
    listen();
  } catch (...) {
    ucp_worker_destroy(worker_);
    throw;
  }
}

void Worker::listen() {
  ucp_address_t* address = nullptr;
  std::size_t address_bytes = 0;
  require_ok(ucp_worker_get_address(worker_, &address, &address_bytes), "ucp_worker_get_address");
  address_.assign(reinterpret_cast<const char*>(address), address_bytes);
  ucp_worker_release_address(worker_, address);
  require_ok(ucp_worker_get_efd(worker_, &wake_descriptor_), "ucp_worker_get_efd");
  hear(kNoteId, on_note);
  hear(kGreetingId, on_greeting);
}

void Worker::hear(unsigned id, ucp_am_recv_callback_t callback) {
  ucp_am_handler_param_t handler{};
  handler.field_mask =
      UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = id;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.cb = callback;
  handler.arg = this;
  require_ok(ucp_worker_set_am_recv_handler(worker_, &handler), "ucp_worker_set_am_recv_handler");
}

/// There is no progress any more between closing the endpoints and the end of the worker. It would answer a peer that is still connecting with
/// another endpoint than before, and at such an answer UCX ends the peer's process. What is open then has nobody who could touch its memory.
Worker::~Worker() {
  closing_ = true;
  for (Peer& peer : peers_) {
    cancel_receives(peer.rank);
    close_endpoint(peer);
  }
  ucp_worker_destroy(worker_);
  while (!open_.empty()) ended(open_.front(), UCS_ERR_CANCELED, 0);
}

void Worker::join(int rank, int size) {
  rank_ = rank;
  peers_.resize(static_cast<std::size_t>(size));
  for (int peer = 0; peer < size; ++peer) {
    peers_[static_cast<std::size_t>(peer)].worker = this;
    peers_[static_cast<std::size_t>(peer)].rank = peer;
  }
}

void Worker::connect(int rank, std::string_view address) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  const std::string copy(address);
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(copy.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = on_failure;
  params.err_handler.arg = &peer;
  require_ok(ucp_ep_create(worker_, &params, &peer.endpoint), "ucp_ep_create");
  greet(peer);
}

/// A message that could be replied to goes out when both sides know each other's endpoint.
void Worker::greet(Peer& peer) {
  Request& request = open(peer.rank, nullptr, false);
  ucp_request_param_t params = request_params(&request);
  params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_AM_SEND_FLAG_EAGER | UCP_AM_SEND_FLAG_REPLY;
  params.cb.send = on_sent;
  started(request, ucp_am_send_nbx(peer.endpoint, kGreetingId, &rank_, sizeof rank_, nullptr, 0, &params));
}

std::string Worker::lanes(int peer) const {
  ucp_ep_h endpoint = peers_[static_cast<std::size_t>(peer)].endpoint;
  if (endpoint == nullptr) return "";
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* const stream = open_memstream(&text, &bytes);
  if (stream == nullptr) throw Refusal("open_memstream failed");
  ucp_ep_print_info(endpoint, stream);
  std::fclose(stream);
  const std::string copy(text, bytes);
  std::free(text);
  return copy;
}

Worker::Request& Worker::open(int peer, Pending* pending, bool receives) {
  if (spare_.empty()) spare_.emplace_back();
  open_.splice(open_.end(), spare_, spare_.begin());
  Request& request = open_.back();
  request.worker = this;
  request.pending = pending;
  request.peer = peer;
  request.receives = receives;
  request.handle = nullptr;
  request.place = std::prev(open_.end());
  if (pending != nullptr) ++pending->open;
  return request;
}

/// UCX has ended the request and calls nobody back; or it calls back later; or it has done so already, and the request is a spare one.
void Worker::started(Request& request, ucs_status_ptr_t handle) {
  if (UCS_PTR_IS_PTR(handle)) {
    request.handle = handle;
  } else {
    ended(request, UCS_PTR_STATUS(handle), 0);
  }
}

void Worker::ended(Request& request, ucs_status_t status, std::size_t received_bytes) {
  const TransferFault fault = fault_of(request.peer, status);
  if (request.pending != nullptr) request.pending->end(fault, request.peer, fault == TransferFault::None ? received_bytes : 0);
  spare_.splice(spare_.begin(), open_, request.place);
}

TransferFault Worker::fault_of(int peer, ucs_status_t status) {
  if (status == UCS_OK) return TransferFault::None;
  if (status == UCS_ERR_MESSAGE_TRUNCATED) return TransferFault::TooLong;
  if (peers_[static_cast<std::size_t>(peer)].lost) return TransferFault::PeerLost;
  if (closing_) return TransferFault::Cancelled;
  // A request that failed by itself: what comes after it cannot be whole either.
  failures_.push_back({peer, status});
  return TransferFault::PeerLost;
}

void Worker::on_sent(void* handle, ucs_status_t status, void* user_data) {
  Request& request = *static_cast<Request*>(user_data);
  request.worker->ended(request, status, 0);
  ucp_request_free(handle);
}

void Worker::on_received(void* handle, ucs_status_t status, const ucp_tag_recv_info_t* info, void* user_data) {
  Request& request = *static_cast<Request*>(user_data);
  request.worker->ended(request, status, status == UCS_OK ? info->length : 0);
  ucp_request_free(handle);
}

void Worker::send(const UcxMessage& message, Pending& pending) {
  Peer& peer = peers_[static_cast<std::size_t>(message.peer)];
  Request& request = open(message.peer, &pending, false);
  if (peer.lost) return ended(request, UCS_ERR_CANCELED, 0);
  ucp_request_param_t params = request_params(&request);
  params.cb.send = on_sent;
  started(request, ucp_tag_send_nbx(peer.endpoint, message.bytes, message.count, message.tag, &params));
}

void Worker::receive(const UcxMessage& message, Pending& pending) {
  Request& request = open(message.peer, &pending, true);
  if (peers_[static_cast<std::size_t>(message.peer)].lost) return ended(request, UCS_ERR_CANCELED, 0);
  ucp_request_param_t params = request_params(&request);
  // Without the callback UCX does not say how long the message was.
  params.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  params.cb.recv = on_received;
  started(request, ucp_tag_recv_nbx(worker_, message.bytes, message.count, message.tag, ~std::uint64_t{0}, &params));
}

void Worker::send_note(int rank, std::string_view bytes) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (peer.lost) return;
  Request& request = open(rank, nullptr, false);
  request.note.assign(bytes);
  ucp_request_param_t params = request_params(&request);
  params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  params.cb.send = on_sent;
  started(request, ucp_am_send_nbx(peer.endpoint, kNoteId, &rank_, sizeof rank_, request.note.data(), request.note.size(), &params));
}

ucs_status_t Worker::on_note(void* user_data, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                             const ucp_am_recv_param_t* param) {
  Worker& worker = *static_cast<Worker*>(user_data);
  std::int32_t sender = -1;
  // Any process that reaches the port can send this: what is no note is dropped.
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0 || header_bytes != sizeof sender || bytes > kMostNoteBytes) return UCS_OK;
  std::memcpy(&sender, header, sizeof sender);
  if (sender >= 0 && sender < kMostRanks && !worker.closing_) {
    worker.events_.push_back({sender, false, std::string(static_cast<const char*>(data), bytes)});
  }
  return UCS_OK;
}

ucs_status_t Worker::on_greeting(void* user_data, const void* header, std::size_t header_bytes, void*, std::size_t,
                                 const ucp_am_recv_param_t*) {
  std::int32_t sender = -1;
  if (header_bytes == sizeof sender) std::memcpy(&sender, header, sizeof sender);
  if (sender >= 0 && sender < kMostRanks) static_cast<Worker*>(user_data)->greetings_.push_back(sender);
  return UCS_OK;
}

void Worker::on_failure(void* user_data, ucp_ep_h, ucs_status_t status) {
  const Peer& peer = *static_cast<Peer*>(user_data);
  peer.worker->failures_.push_back({peer.rank, status});
}

bool Worker::progress() {
  bool moved = ucp_worker_progress(worker_) != 0;
  // A loss ends requests, which may be what the next failure is about.
  while (!failures_.empty()) {
    const Failure failure = failures_.back();
    failures_.pop_back();
    lose(failure.peer, describe(failure.status));
    close_endpoint(peers_[static_cast<std::size_t>(failure.peer)]);
    moved = true;
  }
  while (!greetings_.empty() && !peers_.empty()) {
    const std::size_t sender = static_cast<std::size_t>(greetings_.back());
    greetings_.pop_back();
    if (sender >= peers_.size()) continue;
    peers_[sender].greeted = true;
    if (peers_[sender].lost) close_endpoint(peers_[sender]);
    moved = true;
  }
  return moved;
}

int Worker::connecting_peers() const {
  int count = 0;
  for (const Peer& peer : peers_) count += peer.endpoint != nullptr && !peer.greeted ? 1 : 0;
  return count;
}

/// Notes that come before the ranks are numbered wait.
bool Worker::next_event(UcxEvent& event) {
  while (!events_.empty() && !peers_.empty()) {
    const Event first = std::move(events_.front());
    events_.pop_front();
    const bool known = first.peer < static_cast<int>(peers_.size());
    if (!known) continue;
    told_ = std::move(first.bytes);
    event = {first.peer, first.lost ? 1 : 0, told_.data(), told_.size()};
    return true;
  }
  return false;
}

void Worker::give_up(int rank, const std::string& why) {
  lose(rank, why);
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (peer.greeted) close_endpoint(peer);
}

void Worker::lose(int rank, const std::string& why) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (peer.lost || closing_) return;
  peer.lost = true;
  cancel_receives(rank);
  events_.push_back({rank, true, why});
}

/// Requests of the endpoint end during the next progress.
void Worker::close_endpoint(Peer& peer) {
  if (peer.endpoint == nullptr) return;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  ucs_status_ptr_t handle = ucp_ep_close_nbx(std::exchange(peer.endpoint, nullptr), &params);
  if (UCS_PTR_IS_PTR(handle)) ucp_request_free(handle);
}

/// A receive belongs to the worker, not to an endpoint: it does not end by itself when its sender is gone. Those that have begun end with the
/// endpoint. The callback runs inside the cancel.
void Worker::cancel_receives(int peer) {
  std::vector<void*> handles;
  for (const Request& request : open_) {
    if (request.receives && request.peer == peer && request.handle != nullptr) handles.push_back(request.handle);
  }
  for (void* const handle : handles) ucp_request_cancel(worker_, handle);
}

bool Worker::arm() { return events_.empty() && failures_.empty() && greetings_.empty() && ucp_worker_arm(worker_) == UCS_OK; }

}  // namespace resilin::dist::ucx
