// tests/dist/os/thread_test.cpp -- threads that signals leave alone, but for the faults that they make themselves.
#include "resilin/dist/os/thread.h"

#include <signal.h>

#include <doctest/doctest.h>

namespace resilin::dist {
namespace {

TEST_CASE("a thread of dist gets no signal but its own faults, and its maker's mask stays") {
  sigset_t before, after, inside;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  start_thread([&] { pthread_sigmask(SIG_SETMASK, nullptr, &inside); }).join();
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1, SIGALRM}) CHECK(sigismember(&inside, signal) == 1);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) CHECK(sigismember(&inside, fault) == 0);
  for (int signal = 1; signal < SIGRTMIN; ++signal) CHECK(sigismember(&before, signal) == sigismember(&after, signal));
}

}  // namespace
}  // namespace resilin::dist
