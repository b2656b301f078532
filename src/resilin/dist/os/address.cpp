// src/resilin/dist/os/address.cpp -- the text of addresses.
#include "resilin/dist/os/address.h"

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin::dist {
namespace {

std::uint16_t parse_port(std::string_view text, std::string_view whole) {
  const bool digits = !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == std::string_view::npos;
  const i64 port = digits ? parse_integer(text) : -1;
  if (port < 0 || port > 65535) throw ArgumentError(cat("address: no port: \"", text, "\" in \"", whole, "\"; it must be 0 to 65535"));
  return static_cast<std::uint16_t>(port);
}

}  // namespace

Address parse_host_port(std::string_view text, std::uint16_t default_port) {
  Address address;
  address.port = default_port;
  std::string_view host = text;
  std::string_view rest;
  if (text.starts_with("[")) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) throw ArgumentError(cat("address: \"", text, "\" has no ]; [HOST]:PORT is needed"));
    host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
  } else if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  if (!rest.empty()) {
    if (!rest.starts_with(":")) throw ArgumentError(cat("address: \"", text, "\" is none; HOST:PORT is needed"));
    address.port = parse_port(rest.substr(1), text);
  }
  if (host.empty()) throw ArgumentError(cat("address: \"", text, "\" names no host; HOST:PORT is needed"));
  address.host = host;
  return address;
}

Address parse_address(std::string_view text) {
  if (text.starts_with("unix:") && text.size() > 5) return {Address::Kind::Unix, std::string(text.substr(5)), 0};
  if (text.starts_with("tcp:")) return parse_host_port(text.substr(4), 0);
  throw ArgumentError(cat("address: \"", text, "\" is none; unix:PATH or tcp:HOST:PORT is needed"));
}

std::string print_address(const Address& address) {
  if (address.kind == Address::Kind::Unix) return cat("unix:", address.host);
  const bool wide = address.host.find(':') != std::string::npos;
  return wide ? cat("tcp:[", address.host, "]:", address.port) : cat("tcp:", address.host, ":", address.port);
}

}  // namespace resilin::dist
