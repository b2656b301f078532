// bench/support/python_peer.cpp -- a Python script that answers each line with a line: one call of a peer.
#include "bench/support/python_peer.h"

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

namespace resilin::bench {

PythonPeer::PythonPeer(const std::string& script, const std::vector<std::string>& arguments) {
  int to[2];
  int from[2];
  if (pipe(to) != 0) return;
  if (pipe(from) != 0) {
    close(to[0]);
    close(to[1]);
    return;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<std::string> words{"python3", script};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  child_ = fork();
  if (child_ == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    for (const int descriptor : {to[0], to[1], from[0], from[1]}) close(descriptor);
    execv("/usr/bin/python3", argv.data());
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  to_ = to[1];
  from_ = from[0];
  greeting_ = read_line();
}

PythonPeer::~PythonPeer() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  if (child_ > 0) waitpid(child_, nullptr, 0);
}

bool PythonPeer::call() { return write(to_, "\n", 1) == 1 && !read_line().empty(); }

std::string PythonPeer::read_line() {
  std::string line;
  char c = 0;
  while (read(from_, &c, 1) == 1) {
    if (c == '\n') return line;
    line += c;
  }
  return {};
}

}  // namespace resilin::bench
