// src/resilin/dispatch/grad_mode.h -- whether ops of this thread are recorded, and scopes that change it.
#pragma once

#include "resilin/base/api.h"

namespace resilin {

/// True unless a scope of this thread says otherwise.
RESILIN_API bool is_grad_enabled();

/// Sets the mode until the end of the scope.
class RESILIN_API GradMode {
 public:
  explicit GradMode(bool enabled);
  ~GradMode();
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};
struct NoGrad : GradMode {
  NoGrad() : GradMode(false) {}
};
struct EnableGrad : GradMode {
  EnableGrad() : GradMode(true) {}
};

}  // namespace resilin
