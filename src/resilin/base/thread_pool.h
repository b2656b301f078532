// src/resilin/base/thread_pool.h -- the one thread pool of the process: static ranges, short spins, then sleep; a range whose thread is late is the caller's.
#pragma once

#include "resilin/base/error.h"
#include "resilin/base/function_ref.h"
#include "resilin/base/text.h"

namespace resilin {

/// Work on [begin, end); `worker` is below `thread_count()` and differs between ranges that run at the same time.
using RangeBody = FunctionRef<void(i64 begin, i64 end, int worker)>;

/// Cuts [begin, end) into at most `thread_count()` ranges whose inner boundaries are multiples of `grain` from begin, and runs
/// `body` once on each; the caller runs the first one. Comes back when all are done.
///
/// When the pool is busy, or the caller itself runs inside a body, the caller runs the same ranges alone, one after another.
/// An exception of a body is thrown again here after the join; of several, that of the lowest range.
RESILIN_API void parallel_for(i64 begin, i64 end, i64 grain, RangeBody body);

/// The number of ranges that `parallel_for` cuts at most: the knob runtime.threads, or what the machine allowed at the first call.
RESILIN_API int thread_count();
/// Sets runtime.threads; 0 is what the machine allowed. ArgumentError outside 0..1024.
RESILIN_API void set_thread_count(int count);

/// The calling thread runs a body of `parallel_for`.
RESILIN_API bool in_parallel_region();

}  // namespace resilin
