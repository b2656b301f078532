// tests/dist/recorder/corpus.h -- Internal: runs of several ranks with one injected fault each, recorded as the ranks would.
#pragma once

#include <cstdint>
#include <string>

#include "resilin/dist/recorder/analyze.h"

namespace resilin::dist::testing {

enum class Fault { Kill, Skip, Extra, Mismatch, Stuck, HealthySlow };

/// What was done to a run: not known to its recordings.
struct Label {
  Fault fault = Fault::Kill;
  std::int32_t rank = 0;
  std::string words;
};

/// Plays a run of 3 to 8 ranks on virtual clocks and leaves their recordings in `folder`. Equal seeds give equal runs.
Label record_run(Fault fault, std::uint64_t seed, const std::string& folder);

/// The analysis names this fault and this rank as the cause; for a healthy run, that it names no culprit.
bool is_right(const Label& label, const Analysis& analysis);
/// The analysis says that the label's rank is slow.
bool names_straggler(const Label& label, const Analysis& analysis);

}  // namespace resilin::dist::testing
