// src/resilin/dist/os/thread.cpp -- threads that no signal interrupts.
#include "resilin/dist/os/thread.h"

#include <utility>

#include <signal.h>

namespace resilin::dist {

std::thread start_thread(std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  // Faults of the thread's own: the kernel ends the process at a blocked one, and whoever reports faults would not hear of it.
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::move(body));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace resilin::dist
