// src/resilin/dist/os/socket.cpp -- stream sockets by the system's calls.
#include "resilin/dist/os/socket.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin::dist {
namespace {

constexpr int kBacklog = 1024;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void fail(std::string_view what, const Address& address, std::string_view why) {
  throw StoreError(cat(what, ": ", why, ": ", print_address(address), "; the address must be usable"));
}

SocketAddress unix_address(const Address& address) {
  SocketAddress result;
  sockaddr_un* const to = reinterpret_cast<sockaddr_un*>(&result.storage);
  if (address.host.size() >= sizeof to->sun_path) {
    throw ArgumentError(cat("address: the path of a Unix socket is too long: ", address.host, " has ", address.host.size(),
                            " characters; at most ", sizeof to->sun_path - 1, " are possible"));
  }
  to->sun_family = AF_UNIX;
  std::memcpy(to->sun_path, address.host.c_str(), address.host.size() + 1);
  result.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.host.size() + 1);
  return result;
}

SocketAddress tcp_address(std::string_view what, const Address& address) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(address.host.c_str(), cat(address.port).c_str(), &wanted, &found);
  if (failure != 0) fail(what, address, gai_strerror(failure));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  SocketAddress result;
  std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
  result.length = found->ai_addrlen;
  return result;
}

SocketAddress resolve(std::string_view what, const Address& address) {
  return address.kind == Address::Kind::Unix ? unix_address(address) : tcp_address(what, address);
}

Descriptor open_socket(std::string_view what, const Address& address, int family) {
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) fail(what, address, reason(errno));
  return socket;
}

void set_option(const Descriptor& socket, int level, int option, int value) {
  // Whether the kernel takes a hint changes nothing that is promised.
  setsockopt(socket.get(), level, option, &value, sizeof value);
}

/// Small frames at once; a host that is gone without a word is noticed.
void tune(const Descriptor& socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 5);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 15'000);
}

bool is_any(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_addr.s_addr == htonl(INADDR_ANY);
  }
  if (address.storage.ss_family == AF_INET6) {
    return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_addr);
  }
  return false;
}

/// A socket file without a listener: who made it is dead.
bool is_abandoned(const Address& address) {
  struct stat status;
  if (address.kind != Address::Kind::Unix || lstat(address.host.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const SocketAddress to = unix_address(address);
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return probe && connect(probe.get(), to.get(), to.length) != 0 && errno == ECONNREFUSED;
}

std::uint16_t bound_port(const Descriptor& socket) {
  SocketAddress bound;
  bound.length = sizeof bound.storage;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.length);
  if (bound.storage.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&bound.storage)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound.storage)->sin_port);
}

}  // namespace

Listener listen_on(const Address& address) {
  const SocketAddress to = resolve("listen", address);
  if (is_any(to)) {
    throw ArgumentError(cat("listen: all interfaces were asked for: ", print_address(address), "; the address of one interface is needed"));
  }
  Listener listener{open_socket("listen", address, to.storage.ss_family), address};
  if (address.kind == Address::Kind::Tcp) set_option(listener.socket, SOL_SOCKET, SO_REUSEADDR, 1);
  int bound = bind(listener.socket.get(), to.get(), to.length);
  if (bound != 0 && errno == EADDRINUSE && is_abandoned(address)) {
    unlink(address.host.c_str());
    bound = bind(listener.socket.get(), to.get(), to.length);
  }
  if (bound != 0) fail("listen", address, reason(errno));
  if (address.kind == Address::Kind::Unix) chmod(address.host.c_str(), 0600);
  if (listen(listener.socket.get(), kBacklog) != 0) fail("listen", address, reason(errno));
  if (address.kind == Address::Kind::Tcp) listener.address.port = bound_port(listener.socket);
  return listener;
}

std::optional<Descriptor> accept_client(const Descriptor& listener) {
  while (true) {
    Descriptor client(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client) {
      tune(client);
      return client;
    }
    if (errno != EINTR && errno != ECONNABORTED) return std::nullopt;
  }
}

Descriptor begin_connect(const Address& address) {
  const SocketAddress to = resolve("connect", address);
  Descriptor socket = open_socket("connect", address, to.storage.ss_family);
  if (address.kind == Address::Kind::Tcp) tune(socket);
  if (connect(socket.get(), to.get(), to.length) != 0 && errno != EINPROGRESS && errno != EINTR) fail("connect", address, reason(errno));
  return socket;
}

int connect_result(const Descriptor& socket) {
  int result = 0;
  socklen_t length = sizeof result;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &result, &length) != 0) return errno;
  return result;
}

Received receive_some(const Descriptor& socket, char* data, std::size_t size_bytes) {
  while (true) {
    const ssize_t count = recv(socket.get(), data, size_bytes, 0);
    if (count > 0) return {Transfer::Done, static_cast<std::size_t>(count)};
    if (count == 0) return {Transfer::Ended, 0};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {Transfer::Later, 0};
    if (errno != EINTR) return {Transfer::Ended, 0};
  }
}

Received send_some(const Descriptor& socket, std::string_view bytes) {
  while (true) {
    const ssize_t count = send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) return {Transfer::Done, static_cast<std::size_t>(count)};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {Transfer::Later, 0};
    if (errno != EINTR) return {Transfer::Ended, 0};
  }
}

PeerProcess peer_of(const Descriptor& unix_socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(unix_socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    throw DistError(cat("connection: the other process is not known: ", reason(errno), "; a Unix socket is needed"));
  }
  return {credentials.uid, credentials.pid};
}

}  // namespace resilin::dist
