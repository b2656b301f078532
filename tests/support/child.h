// tests/support/child.h -- Internal: runs a function in a forked child that cannot outlive its time.
#pragma once

#include <exception>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/slowness.h"

namespace resilin::testing {

/// The exit status of a child that ran `body` (which gives the status back), or -signal; the child is killed after `limit_s`.
template <class Body>
int run_in_child(Body&& body, unsigned limit_s = 20) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(limit_s * kSlowness);
    int status = 99;
    try {
      status = body();
    } catch (const std::exception&) {
      status = 98;
    }
    _exit(status);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1000;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace resilin::testing
