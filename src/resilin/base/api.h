// src/resilin/base/api.h -- RESILIN_API: what programs that link the library may call.
#pragma once

/// Everything else is hidden. Inline code of public headers runs in the caller, so what it calls is marked too.
#if defined(__GNUC__)
#define RESILIN_API __attribute__((visibility("default")))
#else
#define RESILIN_API
#endif
