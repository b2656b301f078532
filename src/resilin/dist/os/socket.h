// src/resilin/dist/os/socket.h -- Internal: stream sockets that never block and never raise SIGPIPE.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "resilin/dist/os/address.h"
#include "resilin/dist/os/descriptor.h"

namespace resilin::dist {

/// A listening socket and the address that it really has.
struct Listener {
  Descriptor socket;
  Address address;
};

/// Listens on exactly this address. A Unix socket that a dead process left is replaced. StoreError when the address cannot be had, and
/// ArgumentError for an address of all interfaces: one must be named.
Listener listen_on(const Address& address);

/// The next client; nothing when none waits.
std::optional<Descriptor> accept_client(const Descriptor& listener);

/// Begins to connect; the socket is writable when that is over. StoreError when it cannot even begin, naming the address.
Descriptor begin_connect(const Address& address);
/// 0, or the errno of a connection that could not be made.
int connect_result(const Descriptor& socket);

/// Reads what is there. Nothing is there: Later. The other side has closed: Ended, as after an error of the connection.
enum class Transfer { Done, Later, Ended };
struct Received {
  Transfer state = Transfer::Later;
  std::size_t count = 0;
};
Received receive_some(const Descriptor& socket, char* data, std::size_t size_bytes);
Received send_some(const Descriptor& socket, std::string_view bytes);

/// The user and the process at the other end of a Unix socket.
struct PeerProcess {
  unsigned user = 0;
  int process = 0;
};
PeerProcess peer_of(const Descriptor& unix_socket);

}  // namespace resilin::dist
