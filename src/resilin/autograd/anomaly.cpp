// src/resilin/autograd/anomaly.cpp -- a scope in which backward names the step that makes a NaN.
#include "resilin/autograd/anomaly.h"

#include <utility>

namespace resilin {
namespace {

thread_local constinit bool enabled_here = false;

}  // namespace

DetectAnomaly::DetectAnomaly(bool enabled) : before_(std::exchange(enabled_here, enabled)) {}
DetectAnomaly::~DetectAnomaly() { enabled_here = before_; }
bool is_anomaly_enabled() { return enabled_here; }

}  // namespace resilin
