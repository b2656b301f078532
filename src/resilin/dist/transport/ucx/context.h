// src/resilin/dist/transport/ucx/context.h -- Internal: the process's contexts of UCX.
#pragma once

#include <stdexcept>
#include <string>

#include <ucp/api/ucp.h>

#include "resilin/dist/transport/ucx/plugin.h"

namespace resilin::dist::ucx {

/// What UCX refused; ends at the table.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws Refusal naming the call when it failed.
void require_ok(ucs_status_t status, const std::string& call);

/// The context of these settings, made by the first who asks and kept until the process ends: UCX may abort the process when a context goes.
ucp_context_h context_of(const UcxSettings& settings);

}  // namespace resilin::dist::ucx
