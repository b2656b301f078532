// src/resilin/dist/os/address.h -- Internal: where a server listens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace resilin::dist {

/// "unix:/run/job/store" or "tcp:10.0.0.1:29500".
struct Address {
  enum class Kind { Unix, Tcp };
  Kind kind = Kind::Tcp;
  std::string host = "127.0.0.1";  // the path of a Unix socket
  std::uint16_t port = 0;          // 0: any that is free
  friend bool operator==(const Address&, const Address&) = default;
};

/// ArgumentError on anything else.
Address parse_address(std::string_view text);
/// "HOST:PORT" with `default_port` where it says none; "[::1]:80" for IPv6.
Address parse_host_port(std::string_view text, std::uint16_t default_port);
std::string print_address(const Address& address);

}  // namespace resilin::dist
