// src/resilin/dist/transport/ucx/worker.cpp -- what a UCX worker carries, and how its connections end.
#include "resilin/dist/transport/ucx/worker.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "resilin/dist/transport/ucx/context.h"

namespace resilin::dist::ucx {
namespace {

/// What UCX carries without cutting it: see the sizes in context.cpp, which UCX's own header takes a little of.
constexpr std::size_t kTcpPieceBytes = 15 * kPieceUnit;
constexpr std::size_t kSharedPieceBytes = kPieceUnit;

/// The traffic of Tag that users of the transport have not: 2 bits, then 3 bits of kind, then what a piece is of, 31 bits, and its place in units,
/// 28 bits; or the sender of anything else.
constexpr std::uint64_t kOwnTraffic = std::uint64_t{3} << 62;
constexpr int kKindShift = 59;
constexpr int kNumberShift = 28;
constexpr std::uint64_t kMostUnits = (std::uint64_t{1} << kNumberShift) - 1;
constexpr std::uint64_t kMostNumber = 0x7fffffffu;

std::uint64_t label_of(const Header& header, int sender) {
  if (header.kind == Header::Kind::Message) return header.first;
  const std::uint64_t label = kOwnTraffic | static_cast<std::uint64_t>(header.kind) << kKindShift;
  if (header.kind != Header::Kind::Piece) return label | static_cast<std::uint64_t>(sender);
  return label | header.first << kNumberShift | header.second / kPieceUnit;
}

Header header_of(std::uint64_t label) {
  if ((label & kOwnTraffic) != kOwnTraffic) return {Header::Kind::Message, sender_of(label), label, 0, 0};
  const Header::Kind kind = static_cast<Header::Kind>(label >> kKindShift & 7);
  if (kind != Header::Kind::Piece) return {kind, static_cast<int>(label & (kMostRanks - 1)), 0, 0, 0};
  return {kind, -1, label >> kNumberShift & kMostNumber, (label & kMostUnits) * kPieceUnit, 0};
}

std::string describe(ucs_status_t status) {
  switch (status) {
    case UCS_ERR_CONNECTION_RESET: return "the connection was reset by the other side";
    case UCS_ERR_REJECTED: return "the connection was refused";
    case UCS_ERR_UNREACHABLE: return "its address cannot be reached";
    case UCS_ERR_ENDPOINT_TIMEOUT: return "its process is gone or its connection is broken";
    default: return std::string("the connection failed: ") + ucs_status_string(status);
  }
}

}  // namespace

Worker::Worker(const UcxSettings& settings) : greeted_by_(kMostRanks, false) {
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
}

/// There is no progress between the close of the endpoints and the end of the worker, after which nobody is left who knows of a request.
Worker::~Worker() {
  closing_ = true;
  for (Peer& peer : peers_) close_endpoint(peer);
  ucp_worker_destroy(worker_);
  deliver();
  mail_.end_all();
}

void Worker::join(int rank, int size) {
  rank_ = rank;
  peers_ = std::vector<Peer>(static_cast<std::size_t>(size));
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
  peer.piece_bytes = lanes(rank).find("posix/") == std::string::npos ? kTcpPieceBytes : kSharedPieceBytes;
  if (peer.piece_bytes == kTcpPieceBytes) carry(rank, {Header::Kind::Greeting, -1, 0, 0, 0}, {}, 0);
  while (!peer.early.empty()) {
    Parcel& parcel = peer.early.front();
    open_.splice(open_.end(), peer.early, peer.early.begin());
    post(parcel);
  }
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

Worker::Parcel& Worker::pack(Peer& peer, const Header& header, std::string_view own_bytes) {
  std::list<Parcel>& where = peer.endpoint == nullptr ? peer.early : open_;
  if (spare_.empty()) spare_.emplace_back();
  where.splice(where.end(), spare_, spare_.begin());
  Parcel& parcel = where.back();
  parcel.worker = this;
  parcel.peer = peer.rank;
  parcel.label = label_of(header, rank_);
  parcel.own.assign(own_bytes);
  parcel.bytes = std::as_bytes(std::span(parcel.own));
  parcel.outgoing = 0;
  parcel.place = std::prev(where.end());
  return parcel;
}

Carried Worker::carry(int rank, const Header& header, std::span<const std::byte> bytes, std::uint64_t outgoing) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (peer.lost) return Carried::Lost;
  const bool has_words = header.kind == Header::Kind::Announce || header.kind == Header::Kind::Wanted;
  const std::uint64_t words[] = {header.first, header.second, header.third};
  const std::string_view own_bytes(reinterpret_cast<const char*>(words), has_words ? sizeof words : 0);
  Parcel& parcel = pack(peer, header, own_bytes);
  if (!has_words) parcel.bytes = bytes;
  parcel.outgoing = outgoing;
  return peer.endpoint == nullptr ? Carried::Later : post(parcel);
}

void Worker::send_note(int rank, std::string_view bytes) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (peer.lost) return;
  Parcel& parcel = pack(peer, {Header::Kind::Note, -1, 0, 0, 0}, bytes);
  if (peer.endpoint != nullptr) post(parcel);
}

Carried Worker::post(Parcel& parcel) {
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  params.memory_type = UCS_MEMORY_TYPE_HOST;
  params.user_data = &parcel;
  params.cb.send = on_sent;
  ucp_ep_h endpoint = peers_[static_cast<std::size_t>(parcel.peer)].endpoint;
  ucs_status_ptr_t handle = ucp_tag_send_nbx(endpoint, parcel.bytes.data(), parcel.bytes.size(), parcel.label, &params);
  if (UCS_PTR_IS_PTR(handle)) return Carried::Later;
  const ucs_status_t status = UCS_PTR_STATUS(handle);
  if (status != UCS_OK) failures_.push_back({parcel.peer, status});
  spare_.splice(spare_.begin(), open_, parcel.place);
  return status == UCS_OK ? Carried::Done : Carried::Lost;
}

void Worker::on_sent(void* handle, ucs_status_t status, void* user_data) {
  Parcel& parcel = *static_cast<Parcel*>(user_data);
  parcel.worker->posted(parcel, status);
  ucp_request_free(handle);
}

void Worker::posted(Parcel& parcel, ucs_status_t status) {
  TransferFault fault = TransferFault::None;
  if (status != UCS_OK) fault = closing_ && !is_lost(parcel.peer) ? TransferFault::Cancelled : TransferFault::PeerLost;
  // What failed by itself ends the connection: what comes after it cannot be whole either.
  if (fault == TransferFault::PeerLost && !is_lost(parcel.peer)) failures_.push_back({parcel.peer, status});
  if (parcel.outgoing != 0) deliveries_.push_back({parcel.outgoing, fault});
  spare_.splice(spare_.begin(), open_, parcel.place);
}

bool Worker::deliver() {
  const bool moved = !deliveries_.empty();
  for (const Delivery& delivery : deliveries_) mail_.carried(delivery.outgoing, delivery.fault);
  deliveries_.clear();
  return moved;
}

/// Takes what has come out of UCX, in the order in which it came. All that a rank sends has come whole and is there at once; what a stranger sends
/// may be anything and is dropped.
bool Worker::drain() {
  bool moved = false;
  ucp_tag_recv_info_t info{};
  while (ucp_tag_message_h message = ucp_tag_probe_nb(worker_, 0, 0, 1, &info)) {
    const Header header = header_of(info.sender_tag);
    const bool fits = info.length <= kTcpPieceBytes;
    std::span<std::byte> place = mail_.place_of(header, info.length);
    if (place.empty() || !fits) {
      arrival_.resize(fits ? info.length : 0);
      place = arrival_;
    }
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    params.memory_type = UCS_MEMORY_TYPE_HOST;
    params.cb.recv = on_stray;
    ucs_status_ptr_t handle = ucp_tag_msg_recv_nbx(worker_, place.data(), place.size(), message, &params);
    if (handle == nullptr) arrived(header, place);
    if (UCS_PTR_IS_PTR(handle)) strays_.push_back(std::move(arrival_));
    moved = true;
  }
  return moved;
}

void Worker::on_stray(void* handle, ucs_status_t, const ucp_tag_recv_info_t*, void*) { ucp_request_free(handle); }

void Worker::arrived(const Header& header, std::span<const std::byte> bytes) {
  if (header.kind == Header::Kind::Piece) return mail_.on_piece(header, bytes);
  const std::size_t sender = static_cast<std::size_t>(header.sender);
  if (header.kind == Header::Kind::Greeting) {
    greeted_by_[sender] = true;
    return;
  }
  if (!peers_.empty() && (sender >= peers_.size() || peers_[sender].lost)) return;
  if (header.kind == Header::Kind::Message) return mail_.on_message(header, bytes);
  if (header.kind == Header::Kind::Note) {
    if (bytes.size() > kMostNoteBytes) return;
    events_.push_back({header.sender, false, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())});
    return;
  }
  std::uint64_t words[3];
  if (bytes.size() != sizeof words) return;
  std::memcpy(words, bytes.data(), sizeof words);
  const Header whole = {header.kind, header.sender, words[0], words[1], words[2]};
  if (header.kind == Header::Kind::Wanted) return mail_.on_wanted(whole);
  if (sender_of(whole.first) == header.sender) mail_.on_announce(whole);
}

void Worker::on_failure(void* user_data, ucp_ep_h, ucs_status_t status) {
  const Peer& peer = *static_cast<Peer*>(user_data);
  peer.worker->failures_.push_back({peer.rank, status});
}

bool Worker::progress() {
  bool moved = ucp_worker_progress(worker_) != 0;
  if (deliver()) moved = true;
  if (drain()) moved = true;
  if (mail_.pump()) moved = true;
  // A loss ends requests, which may be what the next failure is about.
  while (!failures_.empty()) {
    const Failure failure = failures_.back();
    failures_.pop_back();
    give_up(failure.peer, describe(failure.status));
    moved = true;
  }
  return moved;
}

/// Notes that come before the ranks are numbered wait.
bool Worker::next_event(UcxEvent& event) {
  while (!events_.empty() && !peers_.empty()) {
    const Event first = std::move(events_.front());
    events_.pop_front();
    if (first.peer >= static_cast<int>(peers_.size())) continue;
    told_ = first.bytes;
    event = {first.peer, first.lost ? 1 : 0, told_.data(), told_.size()};
    return true;
  }
  return false;
}

int Worker::connecting_peers() const {
  int count = 0;
  for (const Peer& peer : peers_) {
    const bool connects = peer.endpoint != nullptr && peer.piece_bytes == kTcpPieceBytes;
    count += connects && !greeted_by_[static_cast<std::size_t>(peer.rank)] ? 1 : 0;
  }
  return count;
}

void Worker::give_up(int rank, const std::string& why) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (peer.lost) return;
  peer.lost = true;
  for (const Parcel& parcel : peer.early) {
    if (parcel.outgoing != 0) mail_.carried(parcel.outgoing, TransferFault::PeerLost);
  }
  peer.early.clear();
  mail_.lose(rank);
  close_endpoint(peer);
  deliver();
  events_.push_back({rank, true, why});
}

/// What the endpoint carries ends now or during the next progress.
void Worker::close_endpoint(Peer& peer) {
  if (peer.endpoint == nullptr) return;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = UCP_EP_CLOSE_FLAG_FORCE;
  ucs_status_ptr_t handle = ucp_ep_close_nbx(std::exchange(peer.endpoint, nullptr), &params);
  if (UCS_PTR_IS_PTR(handle)) ucp_request_free(handle);
}

bool Worker::arm() {
  return events_.empty() && deliveries_.empty() && failures_.empty() && !mail_.has_more() && ucp_worker_arm(worker_) == UCS_OK;
}

}  // namespace resilin::dist::ucx
