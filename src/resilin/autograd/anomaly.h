// src/resilin/autograd/anomaly.h -- a scope in which backward names the step that makes a NaN.
#pragma once

#include "resilin/base/api.h"

namespace resilin {

/// While the scope lives, a step of a backward of this thread that makes a NaN throws NumericError: "Function 'MulBackward0' returned nan values in its 0th
/// output." Every gradient is read once more.
class RESILIN_API DetectAnomaly {
 public:
  explicit DetectAnomaly(bool enabled = true);
  ~DetectAnomaly();
  DetectAnomaly(const DetectAnomaly&) = delete;
  DetectAnomaly& operator=(const DetectAnomaly&) = delete;

 private:
  bool before_;
};
RESILIN_API bool is_anomaly_enabled();

}  // namespace resilin
