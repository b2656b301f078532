// src/resilin/dist/recorder/dump.h -- a recording as JSON, ours and PyTorch's, and as lines for people.
#pragma once

#include <string>
#include <string_view>

#include "resilin/base/api.h"
#include "resilin/dist/recorder/recording.h"

namespace resilin::dist {

/// The layout of PyTorch's flight recorder, version 2.10, with what only we know under "x" of each entry. Its analyzer takes the backends
/// nccl, xccl, ncclx and gloo only, so entries are named after `backend`; the real one stands under "x".
RESILIN_API std::string torch_json(const Recording& recording, std::string_view backend = "gloo");

/// All that is in a recording: identity, groups, peers, operations, steps and events.
RESILIN_API std::string recording_json(const Recording& recording);

/// One line an operation or event, in the order of time.
RESILIN_API std::string recording_text(const Recording& recording);

}  // namespace resilin::dist
