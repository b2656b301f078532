// src/resilin/dist/transport/ucx.h -- Internal: the transport `ucx`: shared memory and TCP by UCX.
#pragma once

#include <string>
#include <string_view>

#include "resilin/dist/transport/transport.h"

namespace resilin::dist {

struct UcxOptions {
  std::string interface = "lo";  // of the network, by name; TCP listens there and nowhere else
  bool shared_memory = true;     // to ranks of the same host
};

/// Where segments of shared memory have a name for the moment in which they are made. A process that is killed then leaves it behind.
std::string ucx_folder();

/// Opens the plug-in and removes what killed processes have left in ucx_folder. UnsupportedError says what is missing of the plug-in, of UCX or of
/// the interface. The maker throws UnsupportedError when a transport cannot be made, such as without descriptors to spare.
///
/// Threads  transports of one maker may be used by different threads at once
TransportMaker ucx_transport(const UcxOptions& options);

/// The lanes that UCX prints of a connection, each once: "posix tcp/lo".
std::string read_lanes(std::string_view printed);

}  // namespace resilin::dist
