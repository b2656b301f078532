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

/// Loop strength reduction takes a third of a small kernel's compile time and makes the addresses of plain vector loops no better.
class SkipLoopStrengthReduction final : public llvm::OptPassGate {
 public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) override {
    return pass != "Loop Strength Reduction" && pass != "Canonicalize Freeze Instructions in Loops";
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

bool generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType kind, llvm::SmallVectorImpl<char>& out, std::string& error) {
  module.getContext().setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo* info, void* context) {
        if (info->getSeverity() != llvm::DS_Error) return;
        std::string& text = *static_cast<std::string*>(context);
        llvm::raw_string_ostream stream(text);
        llvm::DiagnosticPrinterRawOStream printer(stream);
        info->print(printer);
      },
      &error);
  SkipLoopStrengthReduction gate;
  module.getContext().setOptPassGate(gate);
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
