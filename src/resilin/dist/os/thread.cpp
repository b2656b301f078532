// src/resilin/dist/os/thread.cpp -- threads that no signal interrupts.
#include "resilin/dist/os/thread.h"

#include <utility>

#include <signal.h>

namespace resilin::dist {

std::thread start_thread(std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
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
