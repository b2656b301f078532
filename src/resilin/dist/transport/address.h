// src/resilin/dist/transport/address.h -- Internal: what a rank publishes so that others can connect, checked before an engine sees it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "resilin/base/reflect.h"

namespace resilin::dist {

/// An engine's address and what both ends must know of each other. Engines trust the bytes that they are given.
struct TransportAddress {
  std::string engine;       // "ucx 1.13.1"
  std::uint64_t place = 0;  // of own_place
  std::string bytes;        // the engine's own
  std::int64_t process = 0;
  static constexpr auto fields() {
    return std::tuple{field("engine", &TransportAddress::engine, "Name and version of the engine."),
                      field("place", &TransportAddress::place, "Equal where memory can be shared."),
                      field("bytes", &TransportAddress::bytes, "The engine's own address."),
                      field("process", &TransportAddress::process, "Its number, which means something in this place only.")};
  }
};

/// Bytes with a checksum and the build's identity.
std::string pack_address(const TransportAddress& address);

/// Of a peer. Throws StoreError when the bytes are no address or were changed, VersionError when it is of another build or engine.
TransportAddress unpack_address(std::string_view bytes, int peer, std::string_view engine);

/// The same number in two processes says that they can share memory: one running kernel, one namespace of shared memory and of processes.
std::uint64_t own_place();

}  // namespace resilin::dist
