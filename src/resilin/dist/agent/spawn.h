// src/resilin/dist/agent/spawn.h -- Internal: child processes started, watched by descriptor, and reaped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "resilin/dist/agent/process_end.h"
#include "resilin/dist/os/descriptor.h"

namespace resilin::dist {

/// A program and what it finds when it starts. Its standard input is empty.
struct Program {
  std::vector<std::string> arguments;    // the first is the file, looked up in PATH
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<int> processors;           // empty: those of this process
  int out = -1;                          // descriptor of its standard output; -1: this process's
  int err = -1;
  std::vector<int> kept;          // descriptors that stay open in it, under their numbers
  bool dies_with_parent = false;  // SIGKILL when the thread that starts it ends
};

/// A child in a process group of its own, so that what it starts in turn can be ended with it. It is killed and reaped with this object.
class Child {
 public:
  /// Comes back when the program runs. IoError saying why it cannot be run.
  explicit Child(const Program& program);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t process() const { return process_; }
  /// Readable when the child has ended.
  int descriptor() const { return descriptor_.get(); }
  /// To the child itself; nothing when it was reaped.
  void send_signal(int signal) const;
  /// How it ended; nothing while it runs. Kills what is left of its group.
  std::optional<ProcessEnd> reap();

 private:
  pid_t process_ = -1;
  bool reaped_ = false;
  Descriptor descriptor_;
};

/// A process that somebody else started and reaps.
class ForeignProcess {
 public:
  /// IoError when there is none of this number.
  explicit ForeignProcess(pid_t process);

  pid_t process() const { return process_; }
  /// Readable when it has ended.
  int descriptor() const { return descriptor_.get(); }
  void send_signal(int signal) const;
  bool has_ended() const;

 private:
  pid_t process_ = -1;
  Descriptor descriptor_;
};

/// When the process started, in ticks since the machine did; nothing when there is none, or it has
/// ended and only waits to be reaped. With the number it names a process for ever.
std::optional<unsigned long long> start_time_of(pid_t process);

}  // namespace resilin::dist
