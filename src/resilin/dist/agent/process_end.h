// src/resilin/dist/agent/process_end.h -- Internal: how a process ended, in words and as an exit code.
#pragma once

#include <string>

namespace resilin::dist {

struct ProcessEnd {
  enum class Kind { Exited, Signalled, Unknown };  // Unknown: seen to be gone by somebody who is not its parent
  Kind kind = Kind::Unknown;
  int code = 0;    // of exit
  int signal = 0;  // that killed it
  bool dumped_core = false;
  bool out_of_memory = false;  // a SIGKILL while the kernel counted a kill for want of memory

  bool succeeded() const { return kind == Kind::Exited && code == 0; }
};

/// Of a status that waitpid gave.
ProcessEnd process_end_of(int wait_status);

/// "exited with code 3", "was killed by SIGSEGV (Segmentation fault), core dumped".
std::string describe(const ProcessEnd& end);

/// What a shell would say: the code, or 128 + signal; 1 when it is not known.
int exit_code_of(const ProcessEnd& end);

/// "SIGTERM"; "signal 70" when it has no name.
std::string signal_name(int signal);

}  // namespace resilin::dist
