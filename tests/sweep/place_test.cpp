// tests/sweep/place_test.cpp -- an op is named in two files: the header and the source of its group.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/sweep/sample_call.h"

using namespace resilin;

namespace {

namespace fs = std::filesystem;

struct SourceFile {
  std::string path;  // below src/resilin
  std::string text;
};

// Sources of the floors that see ops.
std::vector<SourceFile> sources() {
  std::vector<SourceFile> files;
  const fs::path root = fs::path(RESILIN_SOURCE_DIR) / "src" / "resilin";
  for (const char* floor : {"ir", "codegen", "plan", "runtime", "dispatch", "ops"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / floor)) {
      if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
      std::ifstream file(entry.path(), std::ios::binary);
      files.push_back({fs::relative(entry.path(), root).string(), {std::istreambuf_iterator<char>(file), {}}});
    }
  }
  return files;
}

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool has_word(const std::string& text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !is_word_character(text[at - 1]);
    const bool ends = at + word.size() == text.size() || !is_word_character(text[at + word.size()]);
    if (begins && ends) return true;
  }
  return false;
}

bool lies_in(const std::string& path, const char* folder) { return path.rfind(folder, 0) == 0; }

// By its constant or by its name as a text; codegen has texts of its own for instructions and injected faults.
bool names(const SourceFile& file, const std::string& op) {
  return has_word(file.text, op + "_op") || (!lies_in(file.path, "codegen/") && file.text.find(cat("\"", op, "\"")) != std::string::npos);
}

// The ops that apply itself inserts are made in dispatch, whose files may name them, and are registered in ops.
bool is_allowed_for_dispatch(const std::vector<std::string>& paths) {
  const bool made_there = std::any_of(paths.begin(), paths.end(), [](const std::string& path) { return path == "dispatch/cast.cpp"; });
  return made_there && std::all_of(paths.begin(), paths.end(),
                                   [](const std::string& path) { return lies_in(path, "dispatch/") || path == "ops/registry.cpp"; });
}

}  // namespace

TEST_CASE("an op is named in no more than two files") {
  const std::vector<SourceFile> files = sources();
  REQUIRE(files.size() > 50);
  for (const ir::OpDef* op : sweep::all_ops()) {
    std::vector<std::string> paths;
    for (const SourceFile& file : files) {
      if (names(file, std::string(op->name))) paths.push_back(file.path);
    }
    std::string list;
    for (const std::string& path : paths) list += cat(" ", path);
    CHECK_MESSAGE((paths.size() <= 2 || is_allowed_for_dispatch(paths)), op->name, " is named in", list);
    CHECK_MESSAGE(!paths.empty(), op->name);
  }
}
