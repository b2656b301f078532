// src/resilin/dist/agent/process_end.cpp -- wait statuses decoded into words.
#include "resilin/dist/agent/process_end.h"

#include <cstring>

#include <sys/wait.h>

#include "resilin/base/text.h"
#include "resilin/dist/launch/rank_info.h"

namespace resilin::dist {

ProcessEnd process_end_of(int wait_status) {
  ProcessEnd end;
  if (WIFEXITED(wait_status)) {
    end.kind = ProcessEnd::Kind::Exited;
    end.code = WEXITSTATUS(wait_status);
  } else if (WIFSIGNALED(wait_status)) {
    end.kind = ProcessEnd::Kind::Signalled;
    end.signal = WTERMSIG(wait_status);
    end.dumped_core = WCOREDUMP(wait_status);
  }
  return end;
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? cat("signal ", signal) : cat("SIG", name);
}

std::string describe(const ProcessEnd& end) {
  switch (end.kind) {
    case ProcessEnd::Kind::Exited:
      if (end.code == kExitStoreLost) return cat("exited with code ", end.code, ": it waited for the store in vain");
      return cat("exited with code ", end.code);
    case ProcessEnd::Kind::Signalled: {
      if (end.out_of_memory) return "was killed by the kernel because memory ran out (SIGKILL)";
      const char* words = sigdescr_np(end.signal);
      std::string text = cat("was killed by ", signal_name(end.signal));
      if (words != nullptr) text += cat(" (", words, ")");
      if (end.dumped_core) text += ", core dumped";
      return text;
    }
    case ProcessEnd::Kind::Unknown: return "is gone; how it ended is known to its parent only";
  }
  return {};
}

int exit_code_of(const ProcessEnd& end) {
  switch (end.kind) {
    case ProcessEnd::Kind::Exited: return end.code;
    case ProcessEnd::Kind::Signalled: return 128 + end.signal;
    case ProcessEnd::Kind::Unknown: return 1;
  }
  return 1;
}

}  // namespace resilin::dist
