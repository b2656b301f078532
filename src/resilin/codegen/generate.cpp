// src/resilin/codegen/generate.cpp -- opens the compiler plug-in and runs it on programs.
#include "resilin/codegen/generate.h"

#include <array>
#include <vector>

#include <dlfcn.h>

#include "resilin/base/config.h"
#include "resilin/base/file.h"
#include "resilin/base/log.h"
#include "resilin/codegen/llvm/plugin.h"

namespace resilin {
namespace {

constexpr char kPluginFile[] = "libresilin_llvm.so";
constexpr i64 kErrorBytes = 2048;

// AVX-512 is meant with whole 64-byte registers, which LLVM avoids on the processors it tunes for.
constexpr char kAvx2Features[] = "+sse4.2,+avx2,+fma,+f16c";
constexpr char kAvx512Features[] = "+sse4.2,+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl,+evex512,-prefer-256-bit";

const CompilerTable* open_plugin() {
  const std::string named = config::text("codegen.plugin");
  const std::string path = named.empty() ? plugin_path(kPluginFile) : named;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    throw UnsupportedError(cat("codegen: the compiler plug-in cannot be opened: ", path, ": ",
                               reason == nullptr ? "unknown reason" : reason, "; a kernel that no cache holds needs it"));
  }
  const CompilerTable* const table = static_cast<const CompilerTable*>(dlsym(library, kCompilerTableSymbol));
  const bool fits = table != nullptr && table->version == kCompilerTableVersion && table->instruction_bytes == sizeof(loop::Instruction);
  if (fits) return table;
  dlclose(library);
  throw UnsupportedError(cat("codegen: the compiler plug-in is of another version: ", path, "; library and plug-in must be of one build"));
}

/// Opened once; a failure is tried again at the next call.
const CompilerTable& plugin() {
  static const CompilerTable* const table = open_plugin();
  return *table;
}

/// Frees what the plug-in gave back.
struct OwnedOutput {
  explicit OwnedOutput(const CompilerTable& compiler) : table(compiler) {}
  ~OwnedOutput() { table.release(&output); }
  OwnedOutput(const OwnedOutput&) = delete;
  OwnedOutput& operator=(const OwnedOutput&) = delete;

  const CompilerTable& table;
  CompilerOutput output{};
};

void show_output(const CompilerOutput& output, const std::string& name) {
  if (output.llvm_text != nullptr) show("llvm", name, output.llvm_text);
  if (output.assembly_text != nullptr) show("asm", name, output.assembly_text);
  if (show_enabled("time")) {
    show("time", name,
         cat("build IR ", output.emit_ms, " ms, generate code ", output.codegen_ms, " ms, object ", output.object_bytes, " bytes"));
  }
}

struct ColumnCounter {
  i64 columns = 0;
  void visit(const loop::Block& block) {
    for (const loop::Statement& statement : block) std::visit(*this, statement.value);
  }
  void operator()(const loop::TableLoop& table) { columns = std::max(columns, static_cast<i64>(table.columns.size())); }
  void operator()(const loop::Loop& loop) { visit(loop.body); }
  void operator()(const loop::Reduce& reduce) { visit(reduce.body); }
  void operator()(const loop::Scan& scan) {
    visit(scan.body);
    visit(scan.after);
  }
  void operator()(const loop::Let&) {}
  void operator()(const loop::Store&) {}
  void operator()(const loop::Check&) {}
};

}  // namespace

Target describe_target(Isa isa) {
  if (isa == Isa::Avx512) return {isa, kAvx512Features, "skylake-avx512", {.vector_bytes = 64, .registers = 32}};
  return {isa, kAvx2Features, "skylake", {.vector_bytes = 32, .registers = 16}};
}

LinkedCode generate(const loop::Program& program, i64 table_words, const Target& target, const std::string& name) {
  std::vector<PhaseView> phases;
  for (const loop::PhaseProgram& phase : program.phases) {
    phases.push_back({phase.code.data(), static_cast<i64>(phase.code.size()), phase.extra.data(), static_cast<i64>(phase.extra.size())});
  }
  const ProgramView view = {phases.data(), static_cast<i64>(phases.size()), table_words};
  const TargetView target_view = {target.vector.vector_bytes, target.features.c_str(), target.tune.c_str(), show_enabled("llvm") ? 1 : 0,
                                  show_enabled("asm") ? 1 : 0};
  const CompilerTable& table = plugin();
  OwnedOutput owned(table);
  std::array<char, kErrorBytes> error{};
  const int failed = table.compile(&view, &target_view, &owned.output, error.data(), kErrorBytes);
  RESILIN_ASSERT(failed == 0, cat("the compiler refuses the kernel ", name, ": ", error.data()));
  show_output(owned.output, name);
  const std::byte* const object = reinterpret_cast<const std::byte*>(owned.output.object);
  return link_object({object, static_cast<std::size_t>(owned.output.object_bytes)}, view.phase_count);
}

i64 table_words(const loop::Nest& nest) {
  ColumnCounter counter;
  for (const loop::Phase& phase : nest.phases) counter.visit(phase.body);
  i64 words = counter.columns;
  for (const loop::Buffer& buffer : nest.buffers) words += buffer.role == loop::Buffer::Role::Entry ? 1 : 0;
  return words;
}

}  // namespace resilin
