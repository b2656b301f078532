// tests/dist/group/board.h -- Internal: what the ranks of a job and their test tell each other: a file that all of them map.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace resilin::dist::test {

/// Where in the making of a generation, and in its first collective, a rank is killed.
enum class Moment : std::uint64_t {
  None,
  Prepare,      // before its end of the new mesh is made
  Join,         // it is made
  Address,      // before its address is published
  Connect,      // before the first peer
  ConnectLast,  // before the last peer
  Hello,        // before the first hello
  HelloLast,    // before the last
  Promise,      // admission is closed, READY not yet written
  Promised,     // READY is written
  Decide,       // all are READY; before COMMIT is written
  Decided,      // COMMIT is written
  Tell,         // before the first copy of the decision
  TellLast,     // before the last
  Install,      // before the old mesh is closed
  FirstSend,    // the first byte of the first collective
  FirstReceive,
};
constexpr std::array<std::string_view, 17> enum_names(Moment*) {
  return {"none",     "prepare", "join",    "address", "connect",   "connect last", "hello",      "hello last",   "promise",
          "promised", "decide",  "decided", "tell",    "tell last", "install",      "first send", "first receive"};
}

/// Orders to a rank, done before its next sum.
inline constexpr std::uint64_t kLeaveAndStop = 1;         // says to its agent that it leaves, and stops itself
inline constexpr std::uint64_t kSpareDescriptors = 1000;  // and more: so many less descriptors than this remain to be opened

/// One launch rank. Kept up by its newest life.
struct Seat {
  std::atomic<std::uint64_t> process, generation, size;
  std::atomic<std::uint64_t> sums;      // right ones, of all lives
  std::atomic<std::uint64_t> evicted;   // lives that got an EvictedError
  std::atomic<std::uint64_t> pause_ms;  // between two sums
  std::atomic<std::uint64_t> order;
};

struct Board {
  std::array<Seat, 64> seats;
  std::atomic<std::uint64_t> fate;    // who is killed when
  std::atomic<std::uint64_t> struck;  // fates that came
  std::atomic<std::uint64_t> passes;  // later lives that may begin
  std::atomic<std::uint64_t> wrong;   // sums
  std::atomic<std::uint64_t> over;

  void arm(Moment moment, int rank) { fate = static_cast<std::uint64_t>(moment) << 32 | static_cast<std::uint64_t>(rank); }
};

/// The board of a folder, made when it is not there. It is zero at first.
class MappedBoard {
 public:
  explicit MappedBoard(const std::string& folder);
  ~MappedBoard();
  MappedBoard(const MappedBoard&) = delete;
  MappedBoard& operator=(const MappedBoard&) = delete;
  Board& operator*() const { return *board_; }
  Board* operator->() const { return board_; }

 private:
  Board* board_;
};

}  // namespace resilin::dist::test
