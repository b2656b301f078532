// src/resilin/tensor/extension.h -- Internal: the base class of what higher floors attach to a tensor.
#pragma once

#include <memory>

namespace resilin {

/// State that a higher floor (dispatch: traced, autograd: grad) keeps in one of the two opaque slots of a tensor.
class Extension {
 public:
  virtual ~Extension() = default;
};

}  // namespace resilin
