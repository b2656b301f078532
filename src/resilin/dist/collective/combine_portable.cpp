// src/resilin/dist/collective/combine_portable.cpp -- the arithmetic of reductions in vectors of 16 bytes, which every processor has.
#include "resilin/dist/collective/combine_lanes.h"

namespace resilin::dist {

CombineKernel find_combine_portable(ReduceOp op, DType dtype) { return find_kernel<16, Small<F16Format, 16>>(op, dtype); }

}  // namespace resilin::dist
