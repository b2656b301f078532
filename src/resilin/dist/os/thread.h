// src/resilin/dist/os/thread.h -- Internal: threads that no signal interrupts.
#pragma once

#include <functional>
#include <thread>

namespace resilin::dist {

/// A thread that no signal is handed to but the faults that it makes itself: those are for the threads of the program.
std::thread start_thread(std::function<void()> body);

}  // namespace resilin::dist
