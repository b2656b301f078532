// src/resilin/codegen/llvm/table.cpp -- what libresilin_llvm.so exports; no exception and no fatal error of LLVM leaves it.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>

#include <llvm/IR/Verifier.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>

#include "resilin/codegen/llvm/emit.h"
#include "resilin/codegen/llvm/object.h"

namespace resilin::codegen {
namespace {

/// Thrown by the handler of LLVM's fatal errors, through frames of LLVM, which Debian builds with unwind tables.
struct FatalError {
  std::string message;
};

void throw_fatal_error(void*, const char* reason, bool) { throw FatalError{reason}; }

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

char* copy_text(llvm::StringRef text) {
  char* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw FatalError{"out of memory"};
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

/// One compile. After a fatal error LLVM's objects are in no state to be destroyed, so they are given up.
struct Job {
  std::string error;
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;

  void abandon() {
    static_cast<void>(module.release());
    static_cast<void>(machine.release());
    static_cast<void>(context.release());
  }
};

bool build_module(Job& job, const ProgramView& program, const TargetView& target) {
  job.module = std::make_unique<llvm::Module>("kernel", *job.context);
  job.module->setTargetTriple(job.machine->getTargetTriple().str());
  job.module->setDataLayout(job.machine->createDataLayout());
  Emitter emitter(*job.module, program, target);
  for (i64 phase = 0; phase < program.phase_count; ++phase) {
    if (emitter.emit_phase(phase)) continue;
    job.error = "phase " + std::to_string(phase) + ": " + emitter.error();
    return false;
  }
  llvm::raw_string_ostream stream(job.error);
  return !llvm::verifyModule(*job.module, &stream);
}

bool produce(Job& job, const ProgramView& program, const TargetView& target, CompilerOutput& out) {
  job.machine = make_target_machine(target, job.error);
  if (job.machine == nullptr) return false;
  const auto start = std::chrono::steady_clock::now();
  if (!build_module(job, program, target)) return false;
  out.emit_ms = milliseconds_since(start);
  if (target.keep_llvm != 0) {
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream stream(text);
    job.module->print(stream, nullptr);
    out.llvm_text = copy_text(text);
  }
  const auto middle = std::chrono::steady_clock::now();
  llvm::SmallString<0> object;
  if (!generate(*job.module, *job.machine, llvm::CodeGenFileType::ObjectFile, object, job.error)) return false;
  out.codegen_ms = milliseconds_since(middle);
  out.object = copy_text(object);
  out.object_bytes = static_cast<i64>(object.size());
  if (target.keep_assembly == 0) return true;
  // Code generation rewrites the module, so the text comes from a new one.
  llvm::SmallString<0> assembly;
  if (!build_module(job, program, target)) return false;
  if (!generate(*job.module, *job.machine, llvm::CodeGenFileType::AssemblyFile, assembly, job.error)) return false;
  out.assembly_text = copy_text(assembly);
  return true;
}

void release(CompilerOutput* out) {
  std::free(out->object);
  std::free(out->llvm_text);
  std::free(out->assembly_text);
  *out = {};
}

void run(Job& job, const ProgramView& program, const TargetView& target, CompilerOutput& out) {
  try {
    if (produce(job, program, target, out)) return;
    if (job.error.empty()) job.error = "LLVM failed without a word";
  } catch (const FatalError& fatal) {
    job.error = fatal.message;
    job.abandon();
  } catch (const std::exception& other) {
    job.error = other.what();
    job.abandon();
  }
}

int compile(const ProgramView* program, const TargetView* target, CompilerOutput* out, char* error, i64 error_bytes) {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(throw_fatal_error); });
  *out = {};
  try {
    Job job;
    run(job, *program, *target, *out);
    if (job.error.empty()) return 0;
    release(out);
    const std::size_t length = std::min(job.error.size(), static_cast<std::size_t>(error_bytes - 1));
    std::memcpy(error, job.error.data(), length);
    error[length] = '\0';
  } catch (...) {
    std::strncpy(error, "out of memory", static_cast<std::size_t>(error_bytes));
  }
  return 1;
}

}  // namespace
}  // namespace resilin::codegen

extern "C" __attribute__((visibility("default"))) const resilin::CompilerTable resilin_llvm_table = {
    resilin::kCompilerTableVersion,
    sizeof(resilin::loop::Instruction),
    &resilin::codegen::compile,
    &resilin::codegen::release,
};
