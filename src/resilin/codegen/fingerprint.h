// src/resilin/codegen/fingerprint.h -- Internal: which version of the generator this is, so that no kernel of another one is taken from a cache.
#pragma once

#include <cstdint>

namespace resilin {

/// A hash of the sources that turn the text of a nest into code (cmake/fingerprint.cmake); the build writes its definition.
extern const std::uint64_t kCodegenFingerprint;

}  // namespace resilin
