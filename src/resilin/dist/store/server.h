// src/resilin/dist/store/server.h -- Internal: the store served to other processes by a thread of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "resilin/dist/environment.h"
#include "resilin/dist/os/address.h"
#include "resilin/dist/security/secret.h"
#include "resilin/dist/store/machine.h"

namespace resilin::dist {

struct StoreServerOptions {
  std::vector<Address> addresses;  // none: a free port of the loopback interface
  /// Where the contents are kept for a successor of this process; empty: nowhere. With a file, the answer to a write is sent when the write
  /// is in it: whole, synced and renamed into place. Keys that end with a lease or a connection do not cause a write by themselves.
  std::string snapshot_file;
  StoreLimits limits;
  std::chrono::milliseconds challenge_timeout{5'000};  // for a client to prove itself
  std::size_t most_connections = 4096;
  std::size_t unsent_bytes = std::size_t{64} << 20;  // kept for a client that does not read; it is closed then
};

/// A client that does not know the secret is refused and has no effect; so is one that sends anything but the protocol. Each reason of a
/// refusal is logged once.
///
/// Errors   StoreError when an address cannot be had; VersionError when the snapshot is of another version or damaged
/// Threads  one, its own; in a forked child the object is empty
class StoreServer {
 public:
  explicit StoreServer(const JobSecret& secret, const StoreServerOptions& options = {}, Clock& clock = machine_clock());
  /// Closes all connections; what is to be kept is in the file.
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  /// Where it listens, with the ports that it was given.
  const std::vector<Address>& addresses() const;

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace resilin::dist
