// src/resilin/codegen/llvm/object.cpp -- the target machine, and the passes from IR to an object file.
#include "resilin/codegen/llvm/object.h"

#include <mutex>

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

namespace resilin::codegen {
namespace {

constexpr char kTriple[] = "x86_64-unknown-linux-gnu";
/// Carries no features of its own: TargetView::features are all there are.
constexpr char kProcessor[] = "x86-64";

/// Passes that a kernel is better off without. Loop strength reduction takes a third of the time of a small kernel and makes the addresses of plain
/// vector loops no better. The scheduler moves the independent vectors of an operation apart, into chains that wait for themselves: the order of the
/// program, which keeps them together, needs fewer registers and runs as fast or faster.
class PassFilter final : public llvm::OptPassGate {
 public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) override {
    return pass != "Loop Strength Reduction" && pass != "Canonicalize Freeze Instructions in Loops" &&
           pass != "Machine Instruction Scheduler";
  }
};

}  // namespace

std::unique_ptr<llvm::TargetMachine> make_target_machine(const TargetView& target, std::string& error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  const llvm::Target* const found = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (found == nullptr) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.MCOptions.AsmVerbose = true;
  const llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default;
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(kTriple, kProcessor, target.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small, level, true));
  if (machine == nullptr) error = "LLVM has no x86-64 code generator";
  return machine;
}

bool generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType kind, llvm::SmallVectorImpl<char>& out,
              std::string& error) {
  module.getContext().setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo* info, void* context) {
        if (info->getSeverity() != llvm::DS_Error) return;
        std::string& text = *static_cast<std::string*>(context);
        llvm::raw_string_ostream stream(text);
        llvm::DiagnosticPrinterRawOStream printer(stream);
        info->print(printer);
      },
      &error);
  PassFilter filter;
  module.getContext().setOptPassGate(filter);
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, kind, true)) {
    error = "LLVM cannot write this kind of file";
    return false;
  }
  passes.run(module);
  return error.empty();
}

}  // namespace resilin::codegen
