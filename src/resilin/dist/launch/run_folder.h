// src/resilin/dist/launch/run_folder.h -- Internal: the folder of a running job on its host, and what dead jobs left.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

#include "resilin/base/file.h"

namespace resilin::dist {

/// Where jobs of this user have their sockets and small files: memory of the machine, so that a reboot forgets them.
std::string run_base();
/// Makes it when it is missing. IoError when it is not a folder of this user alone.
void ensure_run_base(const std::string& base);

/// A folder of an agent, for its user alone, with a lock that is free as soon as the agent is dead. It is gone at the end.
class RunFolder {
 public:
  /// Removes first what agents left that died without a word, and whose ranks are all gone: ranks of a lost agent go on and keep theirs.
  RunFolder(const std::string& base, const std::string& job);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Writes down that a process belongs to this folder.
  void note_process(pid_t process);

 private:
  std::string path_;
  std::string processes_;  // what note_process wrote
  std::optional<FileLock> lock_;
};

/// Removes the folders of dead agents without living ranks; gives back how many.
int remove_abandoned(const std::string& base);

}  // namespace resilin::dist
