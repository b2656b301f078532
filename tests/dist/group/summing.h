// tests/dist/group/summing.h -- Internal: what ranks that sum until they are told to stop have written down (see summing.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/support/launcher.h"

namespace resilin::dist::summing {

/// The test case that such a rank runs; it writes to the folder $OUT.
inline constexpr const char* kTestCase = "a rank that sums";

/// What a rank wrote down: "sum", its first of a generation was right; "on", so were the next 64; "failed", a work threw; "keys:N", the store
/// has so many; "store-lost"; or what was wrong.
struct Note {
  std::string what;
  std::uint64_t instance = 0, generation = 0;
  int size = 0;
  double at_ms = 0;
  pid_t process = 0;
  std::string start_time = {};  // of the process, where it was asked for
};

inline std::vector<Note> notes_in(const std::string& folder) {
  std::vector<Note> notes;
  for (const std::string& line : launch::lines_of(folder + "/notes")) {
    Note note;
    std::istringstream text(line);
    if (text >> note.what >> note.instance >> note.generation >> note.size >> note.at_ms >> note.process) notes.push_back(note);
  }
  return notes;
}

/// Those of one kind, after a time.
inline std::vector<Note> notes_of(const std::string& folder, const std::string& what, double after_ms) {
  std::vector<Note> found;
  for (const Note& note : notes_in(folder)) {
    if (note.what == what && note.at_ms > after_ms) found.push_back(note);
  }
  return found;
}

/// The members of a generation after `after`, once all of them have a right sum in it and there are so many.
inline std::vector<Note> members_in(const std::string& folder, int size, std::uint64_t after) {
  std::vector<Note> members;
  launch::comes_true(
      [&] {
        members.clear();
        const std::vector<Note> all = notes_in(folder);
        std::uint64_t newest = 0;
        for (const Note& note : all) newest = std::max(newest, note.generation);
        for (const Note& note : all) {
          if (note.what == "sum" && note.generation == newest && newest > after && note.size == size) members.push_back(note);
        }
        return static_cast<int>(members.size()) == size;
      },
      60);
  return members;
}

inline void tell_to_stop(const std::string& folder) { std::ofstream(folder + "/stop") << "now"; }

}  // namespace resilin::dist::summing
