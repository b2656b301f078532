// src/resilin/dist/transport/plugin.h -- Internal: opens the plug-ins of transports.
#pragma once

#include <string>

#include "resilin/dist/transport/ucx/plugin.h"

namespace resilin::dist {

/// Opens the UCX plug-in of this path, and with it UCX, which catches no signals and replaces no functions of the C library. UnsupportedError says what is missing.
/// No other thread may look at the process's environment meanwhile.
const UcxTable& open_ucx_plugin(const std::string& path);

/// The plug-in of the knob dist.ucx_plugin, opened once; a failure is tried again at the next call.
const UcxTable& ucx_plugin();

}  // namespace resilin::dist
