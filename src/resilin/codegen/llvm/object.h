// src/resilin/codegen/llvm/object.h -- Internal: LLVM modules to object code and assembly.
#pragma once

#include <string>

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "resilin/codegen/llvm/plugin.h"

namespace resilin::codegen {

/// The code generator of a target, made once per compile since it is not safe for threads. Null with a sentence in `error` when LLVM lacks x86.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const TargetView& target, std::string& error);

/// Runs instruction selection to the end and appends the file to `out`. False when LLVM reports an error; `error` holds its words.
bool generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType kind, llvm::SmallVectorImpl<char>& out,
              std::string& error);

}  // namespace resilin::codegen
