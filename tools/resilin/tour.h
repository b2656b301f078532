// tools/resilin/tour.h -- the tour that `make tour` prints.
#pragma once

namespace resilin::tool {

/// Prints tensors and, for some of them, the loop nest of the kernel that made them and the time of the first and of later calls. Gives back 0.
int tour();

}  // namespace resilin::tool
