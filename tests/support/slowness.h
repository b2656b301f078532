// tests/support/slowness.h -- Internal: how much slower than usual the code runs that the compiler has instrumented.
#pragma once

namespace resilin::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

/// The factor of bounds that only keep a test from waiting for ever. What an engine promises by the clock is never multiplied.
inline constexpr int kSlowness = kSanitized ? 8 : 1;

}  // namespace resilin::testing
