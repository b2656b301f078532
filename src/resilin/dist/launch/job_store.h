// src/resilin/dist/launch/job_store.h -- connect_job_store: the store of the job that this process is a rank of.
#pragma once

#include <chrono>
#include <memory>

#include "resilin/base/api.h"
#include "resilin/dist/launch/rank_info.h"
#include "resilin/dist/store/store.h"

namespace resilin::dist {

/// A client of the store that the launcher serves. It connects with the first request and again whenever the connection breaks.
///
/// Errors   UnsupportedError when no agent of ours started this process; IoError when the job's secret cannot be read
RESILIN_API std::shared_ptr<Store> connect_job_store(const RankInfo& rank,
                                                     std::chrono::milliseconds grace = std::chrono::milliseconds(60'000));

/// Numbers this life where no agent of ours did, under mpirun and srun: before its first heartbeat, for one number names a life everywhere.
RESILIN_API void number_this_life(RankInfo& rank, Store& store);

}  // namespace resilin::dist
