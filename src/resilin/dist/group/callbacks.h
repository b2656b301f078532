// src/resilin/dist/group/callbacks.h -- Internal: the thread that runs what users hang on collectives.
#pragma once

#include <functional>

namespace resilin::dist {

/// Runs the task after those before it, in the one such thread of the process, which begins with the first. What a task throws is logged.
void run_callback(std::function<void()> task);
/// The calling thread is that one.
bool in_callback();

}  // namespace resilin::dist
