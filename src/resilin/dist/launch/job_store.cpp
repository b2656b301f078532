// src/resilin/dist/launch/job_store.cpp -- a rank's way to the store of its job.
#include "resilin/dist/launch/job_store.h"

#include "resilin/base/error.h"
#include "resilin/dist/launch/job_secret.h"
#include "resilin/dist/membership/records.h"
#include "resilin/dist/store/tcp_store.h"

namespace resilin::dist {

std::shared_ptr<Store> connect_job_store(const RankInfo& rank, std::chrono::milliseconds grace) {
  if (rank.store_address.empty()) {
    throw UnsupportedError("connect_job_store: this process has no store: RESILIN_STORE is not set; resilin run sets it");
  }
  return std::make_shared<TcpStore>(parse_address(rank.store_address), job_secret_of(rank), TcpStoreOptions{.grace = grace});
}

void number_this_life(RankInfo& rank, Store& store) {
  if (rank.instance == 0) rank.instance = static_cast<std::uint64_t>(store.add(kInstancesKey, 1));
}

}  // namespace resilin::dist
