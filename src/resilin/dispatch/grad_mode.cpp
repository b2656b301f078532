// src/resilin/dispatch/grad_mode.cpp -- whether ops of this thread are recorded, and scopes that change it.
#include "resilin/dispatch/grad_mode.h"

#include <utility>

#include "resilin/dispatch/recorder.h"

namespace resilin {

thread_local constinit bool grad_is_enabled = true;

bool is_grad_enabled() { return grad_is_enabled; }
GradMode::GradMode(bool enabled) : before_(std::exchange(grad_is_enabled, enabled)) {}
GradMode::~GradMode() { grad_is_enabled = before_; }

}  // namespace resilin
