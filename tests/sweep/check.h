// tests/sweep/check.h -- the checks of one case.
#pragma once

#include "tests/sweep/attempt.h"
#include "tests/sweep/planned.h"
#include "tests/sweep/report.h"

namespace resilin::sweep {

/// Runs a case with all its tensors in guarded memory (g), begin or end by its seed, and checks:
///
///   a  eager gives the reference's values, or throws the error that promotion, infer or the reference throw; inputs stay as they were
///   b  interpreted kernels give the bits of the generated ones
///   c  the graph of the call, planned from its text, launches eager's kernels and gives eager's bits; with constant sizes it gives the
///      reference
///   d  that text parses to an equal graph
///   e  1, 2 and 3 threads give the same bits
///   f  AVX2 gives the bits of AVX-512
///   h  a result written in place or into a strided destination has the same bits (within the tolerance where the order of a sum follows
///      from the destination's layout), and nothing around it changes
class Checker {
 public:
  enum class Depth : std::uint8_t { All, Kernels };  // Kernels: a and b

  Checker(Report& report, Depth depth) : report_(report), depth_(depth) {}
  void run(const Case& c);

 private:
  void check_call(const Case& c, const Call& call);
  bool check_reference(const Call& call, const Attempt& eager);
  void check_plan(const Case& c, const Call& call, const Attempt& eager);
  void check_constant_sizes(const Call& call);
  void check_threads(const Call& call, const Attempt& eager);
  void check_target(const Call& call, const Attempt& eager);
  void check_in_place(const Call& call, const Attempt& eager);
  void check_destination(const Call& call, const Attempt& eager);
  void check_written(const Call& call, const std::vector<Input>& arguments, const std::vector<Tensor>& destinations, const Attempt& eager);

  Report& report_;
  Depth depth_;
  PlannedGraphs planned_;
};

}  // namespace resilin::sweep
