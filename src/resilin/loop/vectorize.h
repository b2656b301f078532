// src/resilin/loop/vectorize.h -- turns a Nest into a Program for vectors of a given width.
#pragma once

#include "resilin/loop/nest.h"
#include "resilin/loop/program.h"

namespace resilin::loop {

/// What the vectoriser must know of a machine.
struct VectorTarget {
  int vector_bytes = 32;  // 32 or 64
  int registers = 16;     // vector registers; bounds how many vectors run in flight
  friend bool operator==(const VectorTarget&, const VectorTarget&) = default;
};

/// A fault the vectoriser puts in on purpose, so that tests can show they would catch it (knob codegen.mutant).
enum class Mutant : std::uint8_t {
  None,
  TailMask,
  Stride,
  ReduceInit,
  ReduceTree,
  Cast,
  Fill,
  Bound,
  ScanCarry,
  Position,
  CheckMask,
  StoreMask
};

/// Keeps the nest's meaning bit for bit (see Reduce and Scan for the fixed orders) and reads or writes no element that the nest does not.
Program vectorize(const Nest& nest, const VectorTarget& target, Mutant mutant = Mutant::None);

}  // namespace resilin::loop
