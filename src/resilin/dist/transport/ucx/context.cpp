// src/resilin/dist/transport/ucx/context.cpp -- the keys that UCX is set up with.
#include "resilin/dist/transport/ucx/context.h"

#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace resilin::dist::ucx {
namespace {

struct ReleaseConfig {
  void operator()(ucp_config_t* config) const { ucp_config_release(config); }
};

/// UCX takes any key without a word; what came of these is seen in the lanes of each connection.
void set_up(ucp_config_t* config, const UcxSettings& settings) {
  std::vector<std::pair<const char*, const char*>> keys = {
      {"TLS", settings.transports},
      {"NET_DEVICES", settings.interface},
      // Of a connection that is not made yet when its peer dies, the keepalive of UCX 1.13 ends the process. The kernel tells of deaths on this
      // host, TCP of those elsewhere.
      {"KEEPALIVE_INTERVAL", "inf"},
      // No endpoint needs to know the one at the other side, and only single pieces are sent. Otherwise UCX 1.13 ends a process when the other
      // side goes away while they get to know each other, and sees the death of a peer on the same host only when the way to it is full.
      {"RESOLVE_REMOTE_EP_ID", "n"},
      {"RNDV_THRESH", "inf"},
      // TCP without copies ends a request twice when the connection breaks in the middle of it, at which UCX 1.13 ends the process. Copies of
      // large pieces are as fast.
      {"ZCOPY_THRESH", "inf"},
      {"TX_SEG_SIZE", "128k"},
      {"RX_SEG_SIZE", "128k"},
      // Of several events at once, one may be about a connection that another has ended, at which UCX 1.13 ends the process.
      {"MAX_POLL", "1"},
  };
  if (std::string_view(settings.transports).find("posix") != std::string_view::npos) {
    // Without it shared memory is left out of connections that shall notice the death of their peer.
    keys.emplace_back("MM_ERROR_HANDLING", "y");
    keys.emplace_back("MM_SEG_SIZE", "8256");
    keys.emplace_back("DIR", settings.folder);
    keys.emplace_back("USE_PROC_LINK", "y");
  }
  for (const auto& [key, value] : keys) require_ok(ucp_config_modify(config, key, value), std::string("ucp_config_modify ") + key);
}

ucp_context_h make_context(const UcxSettings& settings) {
  ucp_config_t* read = nullptr;
  require_ok(ucp_config_read(nullptr, nullptr, &read), "ucp_config_read");
  const std::unique_ptr<ucp_config_t, ReleaseConfig> config(read);
  set_up(config.get(), settings);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
  params.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
  params.mt_workers_shared = 1;
  ucp_context_h context = nullptr;
  require_ok(ucp_init(&params, config.get(), &context),
             std::string("ucp_init with transports ") + settings.transports + " and interface " + settings.interface);
  return context;
}

}  // namespace

void require_ok(ucs_status_t status, const std::string& call) {
  if (status != UCS_OK) throw Refusal(call + " failed: " + ucs_status_string(status));
}

ucp_context_h context_of(const UcxSettings& settings) {
  static std::mutex mutex;
  static std::map<std::string, ucp_context_h>* const contexts = new std::map<std::string, ucp_context_h>();
  const std::lock_guard<std::mutex> lock(mutex);
  const std::string key = std::string(settings.transports) + "\n" + settings.interface;
  const std::map<std::string, ucp_context_h>::const_iterator found = contexts->find(key);
  if (found != contexts->end()) return found->second;
  ucp_context_h context = make_context(settings);
  contexts->emplace(key, context);
  return context;
}

}  // namespace resilin::dist::ucx
