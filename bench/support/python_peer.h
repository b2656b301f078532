// bench/support/python_peer.h -- a Python script that answers each line with a line: one call of a peer.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace resilin::bench {

/// Starts the script with /usr/bin/python3; ends and reaps it with the object.
class PythonPeer {
 public:
  PythonPeer(const std::string& script, const std::vector<std::string>& arguments);
  ~PythonPeer();
  PythonPeer(const PythonPeer&) = delete;
  PythonPeer& operator=(const PythonPeer&) = delete;

  /// What it said when it was ready; empty when it could not start.
  const std::string& greeting() const { return greeting_; }
  /// One call; false when the script has ended.
  bool call();

 private:
  std::string read_line();

  pid_t child_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string greeting_;
};

}  // namespace resilin::bench
