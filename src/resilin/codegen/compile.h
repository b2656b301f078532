// src/resilin/codegen/compile.h -- from a nest to callable code: disk cache, shipped pack, or the LLVM plug-in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "resilin/codegen/cpu.h"
#include "resilin/codegen/kernel.h"
#include "resilin/loop/nest.h"

namespace resilin {

/// Where the code of a kernel came from.
enum class Origin : std::uint8_t { Compiled, Disk, Pack };

/// Executable code of one nest, mapped read+execute; freed with the last pointer.
class Code {
 public:
  virtual ~Code() = default;
  virtual PhaseFunction phase(int index) const = 0;
  virtual Origin origin() const = 0;
};

/// Code for `nest` on this machine (target_isa(), codegen/cpu.h): looked up in the user's disk cache, then in the pack, else compiled and stored.
/// `text` is print(nest). Throws UnsupportedError when the compiler plug-in is needed and cannot be opened (names the file and dlopen's words).
std::shared_ptr<const Code> compile(const loop::Nest& nest, const std::string& text);

class Pack;

/// The image of `nest` for machines of `isa`, of which this one need not be: from `before` (a pack, or null) where that holds it, else compiled. No other
/// cache is asked and nothing is stored. Packs are made of these.
std::string compile_for_pack(const loop::Nest& nest, const std::string& text, Isa isa, const Pack* before);

/// Counters for tests and the profiler.
struct CompileStats {
  i64 compiled = 0, disk_hits = 0, pack_hits = 0, refused = 0;  // refused: damaged or foreign entries that were rebuilt
  double compile_ms = 0;
};
CompileStats compile_stats();

}  // namespace resilin
