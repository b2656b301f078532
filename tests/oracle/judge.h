// tests/oracle/judge.h -- whether a call of ours agrees with what PyTorch answered.
#pragma once

#include <string>

#include "tests/oracle/adapters.h"

namespace resilin::oracle {

struct Verdict {
  enum class Kind : std::uint8_t { Agrees, Differs, Skipped } kind = Kind::Agrees;
  std::string why = {};  // empty when it agrees
};

/// Runs the call. Results, and gradients where PyTorch has some, agree when dtype, shape and elements do; an error agrees when ours is one too, but no
/// InternalError. Skipped: what ours cannot say (NotOurs), or says is missing (UnsupportedError).
Verdict judge(const Call& call, const Adapter& adapter);

/// What differs, empty when nothing does: dtype, shape, or the first element. Integers and Bools are equal; floats differ by no more than the tolerances of
/// torch.testing.assert_close: |ours - torch's| <= absolute + relative |torch's|; NaN equals NaN.
std::string difference(const Tensor& ours, const Tensor& torchs);

}  // namespace resilin::oracle
