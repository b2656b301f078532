// src/resilin/dist/store/tcp_store.h -- Internal: a client of the store that an agent serves.
#pragma once

#include <chrono>
#include <memory>

#include "resilin/dist/environment.h"
#include "resilin/dist/os/address.h"
#include "resilin/dist/security/secret.h"
#include "resilin/dist/store/store.h"

namespace resilin::dist {

struct TcpStoreOptions {
  std::chrono::milliseconds grace{60'000};             // a request waits so long for a store that is not there or says nothing
  std::chrono::milliseconds challenge_timeout{5'000};  // for the server to prove itself
};

/// A store at an address, TCP or Unix. A connection that breaks is made again, and requests without a reply are sent again under the same
/// instance and nonce, so that the store does each once.
///
/// Errors   StoreError when the store cannot be reached within the grace, does not know the job's secret, or is no store; VersionError when it
///          is of another build; in a forked child StoreError: a child makes its own
/// Threads  any thread may call; one of the callers that wait reads for all of them, there is no thread besides
class TcpStore final : public Store {
 public:
  TcpStore(const Address& address, const JobSecret& secret, const TcpStoreOptions& options = {}, Clock& clock = machine_clock(),
           Random& random = machine_random());
  ~TcpStore() override;

  Reply ask(Request request, std::stop_token stop = {}) override;
  /// This client's, which all its writes carry.
  std::uint64_t instance() const;

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

}  // namespace resilin::dist
