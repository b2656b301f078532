// src/resilin/dist/launch/job_secret.h -- Internal: where a rank has the secret of its job from.
#pragma once

#include "resilin/base/error.h"
#include "resilin/dist/launch/rank_info.h"
#include "resilin/dist/security/secret.h"

namespace resilin::dist {

/// From the descriptor that it inherited, or from a file.
inline JobSecret job_secret_of(const RankInfo& rank) {
  if (rank.secret_descriptor >= 0) return JobSecret::of_descriptor(rank.secret_descriptor);
  if (!rank.secret_file.empty()) return JobSecret::of_file(rank.secret_file);
  throw UnsupportedError("secret: this process has none: RESILIN_SECRET_FD and RESILIN_SECRET_FILE are not set; resilin run sets one");
}

}  // namespace resilin::dist
