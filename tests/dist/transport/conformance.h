// tests/dist/transport/conformance.h -- Internal: what every transport does, as checks with names that run on any.
#pragma once

#include <span>
#include <string>

#include "resilin/dist/transport/transport.h"

namespace resilin::dist::testing {

/// The transport under test, as ranks of one process.
struct Subject {
  TransportMaker make;  // for every rank of every generation
  bool threads = true;  // each rank may be driven by a thread of its own and sleep on its descriptor; else the checks of that are left out
  bool machine = true;  // it holds descriptors of the machine, which are counted
  std::size_t most_bytes = std::size_t{64} << 20;  // of one message
};

struct ConformanceCheck {
  const char* name;
  void (*run)(const Subject& subject);
  bool needs_threads = false;
  bool needs_machine = false;
};

/// Messages, notes and generations.
std::span<const ConformanceCheck> message_checks();
/// Ranks that are given up, ends, sleep and what is left behind.
std::span<const ConformanceCheck> ending_checks();

/// Runs every check that the subject can run, as a subcase of its name; call it once in a test case.
void run_conformance(const Subject& subject);

}  // namespace resilin::dist::testing
