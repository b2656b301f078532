// src/resilin/runtime/kernel_table.cpp -- Internal: the kernels of the process by the text of their nests.
#include <mutex>
#include <unordered_map>

#include "resilin/base/config.h"
#include "resilin/runtime/executable.h"

namespace resilin {
namespace {

struct KernelTable {
  std::mutex mutex;  // guards codes; compile() itself lets other keys go on
  std::unordered_map<std::string, std::shared_ptr<const Code>> codes;
};
KernelTable& table() {
  static KernelTable* const kTable = new KernelTable;  // outlives every thread
  return *kTable;
}

// Kernels differ by what the knobs say about the target and about injected faults.
std::string table_key(const std::string& text) {
  static config::Knob& target = config::knob("codegen.target");
  static config::Knob& mutant = config::knob("codegen.mutant");
  return cat(target.text(), "|", mutant.text(), "|", text);
}

}  // namespace

std::shared_ptr<const Code> kernel_for(const loop::Nest& nest, const std::string& text) {
  const std::string key = table_key(text);
  {
    const std::lock_guard<std::mutex> lock(table().mutex);
    const std::unordered_map<std::string, std::shared_ptr<const Code>>::const_iterator found = table().codes.find(key);
    if (found != table().codes.end()) return found->second;
  }
  std::shared_ptr<const Code> code = compile(nest, text);
  const std::lock_guard<std::mutex> lock(table().mutex);
  return table().codes.emplace(key, std::move(code)).first->second;
}

}  // namespace resilin
