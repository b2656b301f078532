// src/resilin/dist/transport/plugin.cpp -- dlopen, with UCX's own variables set meanwhile.
#include "resilin/dist/transport/plugin.h"

#include <map>

#include <dlfcn.h>

#include "resilin/base/config.h"
#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/text.h"
#include "resilin/dist/environment.h"

namespace resilin::dist {
namespace {

constexpr char kUcxPluginFile[] = "libresilin_ucx.so";

/// UCX reads these when it is loaded and never again.
std::map<std::string, std::string> loading_variables() {
  std::map<std::string, std::string> variables = {
      {"UCX_HANDLE_ERRORS", "none"},
      {"UCX_ERROR_SIGNALS", ""},
      {"UCX_WARN_UNUSED_ENV_VARS", "n"},
      // Else UCX writes jumps to itself into mmap, madvise and their like, for registered memory, which the lanes in use do not have.
      {"UCX_MEM_EVENTS", "n"},
      {"UCX_MEM_MMAP_HOOK_MODE", "none"},
  };
  // Errors are told by what calls give back; who looks for more asks for it.
  if (!environment_variable("UCX_LOG_LEVEL")) variables["UCX_LOG_LEVEL"] = "fatal";
  return variables;
}

}  // namespace

const UcxTable& open_ucx_plugin(const std::string& path) {
  const ScopedVariables variables(loading_variables());
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    throw UnsupportedError(cat("ucx: the plug-in cannot be opened: ", path, ": ", reason == nullptr ? "unknown reason" : reason,
                               "; the file and the libraries of UCX (libucp.so.0) must be there"));
  }
  const UcxTable* const table = static_cast<const UcxTable*>(dlsym(library, kUcxTableSymbol));
  if (table == nullptr || table->version != kUcxTableVersion || table->pending_bytes != sizeof(Pending)) {
    dlclose(library);
    throw UnsupportedError(cat("ucx: the plug-in is of another version: ", path, "; library and plug-in must be of one build"));
  }
  if (table->catches_signals() != 0) {
    throw UnsupportedError(
        "ucx: another part of this process has loaded UCX, which catches SIGSEGV and other signals now; UCX_HANDLE_ERRORS=none must be in "
        "the environment when the process starts");
  }
  return *table;
}

const UcxTable& ucx_plugin() {
  static const UcxTable& table = [&]() -> const UcxTable& {
    const std::string named = config::text("dist.ucx_plugin");
    return open_ucx_plugin(named.empty() ? plugin_path(kUcxPluginFile) : named);
  }();
  return table;
}

}  // namespace resilin::dist
