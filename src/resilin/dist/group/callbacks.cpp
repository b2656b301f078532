// src/resilin/dist/group/callbacks.cpp -- one thread for all callbacks.
#include "resilin/dist/group/callbacks.h"

#include <exception>
#include <memory>
#include <utility>

#include "resilin/base/log.h"
#include "resilin/base/text.h"
#include "resilin/dist/environment.h"

namespace resilin::dist {
namespace {

thread_local bool tl_in_callback = false;

void run_guarded(const std::function<void()>& task) {
  tl_in_callback = true;
  try {
    task();
  } catch (const std::exception& error) {
    log(LogLevel::Error, cat("a callback of a collective threw: ", error.what()));
  }
}

}  // namespace

void run_callback(std::function<void()> task) {
  // Lives for ever: tasks may come while the process ends.
  static Executor* const executor = make_thread_executor(machine_clock()).release();
  executor->post([task = std::move(task)] { run_guarded(task); });
}

bool in_callback() { return tl_in_callback; }

}  // namespace resilin::dist
