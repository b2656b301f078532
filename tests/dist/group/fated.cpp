// tests/dist/group/fated.cpp -- moments of the protocol, told from what a rank asks of its transport and its store.
#include "tests/dist/group/fated.h"

#include <new>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/dist/group/note.h"
#include "resilin/dist/membership/records.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist::test {
namespace {

/// Of `count` alike, the first and the last pass moments of their own.
struct Row {
  Moment first, last;
  int done = 0;
  void next(Board& board, int rank, int count) {
    if (done == 0) pass(board, rank, first);
    if (++done == count) pass(board, rank, last);
  }
};

class FatedTransport final : public Transport {
 public:
  FatedTransport(std::unique_ptr<Transport> inner, Board& board, int rank) : inner_(std::move(inner)), board_(board), rank_(rank) {}

  std::string address() const override { return inner_->address(); }
  void join(int rank, int size) override {
    pass(board_, rank_, Moment::Join);
    peers_ = size - 1;
    inner_->join(rank, size);
  }
  void connect(int peer, std::string_view address) override {
    connects_.next(board_, rank_, peers_);
    inner_->connect(peer, address);
  }
  void send(int peer, const Tag& tag, std::span<const std::byte> bytes, Pending& pending) override {
    if (!std::exchange(has_sent_, true)) pass(board_, rank_, Moment::FirstSend);
    inner_->send(peer, tag, bytes, pending);
  }
  void receive(int peer, const Tag& tag, std::span<std::byte> bytes, Pending& pending) override {
    if (!std::exchange(has_received_, true)) pass(board_, rank_, Moment::FirstReceive);
    inner_->receive(peer, tag, bytes, pending);
  }
  void send_note(int peer, std::string_view bytes) override {
    const note::Note note = decode<note::Note>(bytes);
    if (std::holds_alternative<note::Hello>(note)) hellos_.next(board_, rank_, peers_);
    if (std::holds_alternative<note::Decision>(note)) decisions_.next(board_, rank_, peers_);
    inner_->send_note(peer, bytes);
  }
  bool progress() override { return inner_->progress(); }
  void give_up(int peer, const std::string& why) override { inner_->give_up(peer, why); }
  void close() override {
    pass(board_, rank_, Moment::Install);
    inner_->close();
  }
  int wake_descriptor() const override { return inner_->wake_descriptor(); }
  bool arm() override { return inner_->arm(); }
  void wake() override { inner_->wake(); }
  std::string lanes(int peer) const override { return inner_->lanes(peer); }

 private:
  const std::unique_ptr<Transport> inner_;
  Board& board_;
  const int rank_;
  int peers_ = 0;
  Row connects_{Moment::Connect, Moment::ConnectLast};
  Row hellos_{Moment::Hello, Moment::HelloLast};
  Row decisions_{Moment::Tell, Moment::TellLast};
  bool has_sent_ = false;
  bool has_received_ = false;
};

bool is_commit(const Write& write) {
  const bool is_decision = write.key.starts_with("try/") && write.key.find('/', 4) == std::string::npos && !write.bytes.empty();
  return is_decision && decode<Attempt>(write.bytes).verdict == Verdict::Commit;
}

struct Moments {
  Moment before = Moment::None, after = Moment::None;
};
Moments moments_of(const Request& request) {
  for (const Write& write : request.writes) {
    if (write.kind != WriteKind::Set) continue;
    if (write.key.find("/address/") != std::string::npos) return {Moment::Address, Moment::None};
    if (write.key.find("/ready/") != std::string::npos) return {Moment::Promise, Moment::Promised};
    if (is_commit(write)) return {Moment::Decide, Moment::Decided};
  }
  return {};
}

class FatedStore final : public Store {
 public:
  FatedStore(std::shared_ptr<Store> inner, Board& board, int rank) : inner_(std::move(inner)), board_(board), rank_(rank) {}

  Reply ask(Request request, std::stop_token stop) override {
    const Moments moments = moments_of(request);
    if (moments.before == Moment::Decide) let_others_decide();
    pass(board_, rank_, moments.before);
    Reply reply = inner_->ask(std::move(request), std::move(stop));
    pass(board_, rank_, moments.after);
    return reply;
  }

 private:
  /// Whoever is to be killed when it decides is the first.
  void let_others_decide() const {
    const std::uint64_t fate = board_.fate;
    const bool decides =
        fate >> 32 == static_cast<std::uint64_t>(Moment::Decide) || fate >> 32 == static_cast<std::uint64_t>(Moment::Decided);
    if (!decides || (fate & 0xffffffff) == static_cast<std::uint64_t>(rank_)) return;
    for (int i = 0; i < 2000 && board_.fate == fate; ++i) usleep(1000);
  }

  const std::shared_ptr<Store> inner_;
  Board& board_;
  const int rank_;
};

}  // namespace

MappedBoard::MappedBoard(const std::string& folder) {
  const int file = open((folder + "/board").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  REQUIRE(ftruncate(file, sizeof(Board)) == 0);
  void* const memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  REQUIRE(memory != MAP_FAILED);
  board_ = static_cast<Board*>(memory);
}

MappedBoard::~MappedBoard() { munmap(board_, sizeof(Board)); }

void pass(Board& board, int rank, Moment moment) {
  if (moment == Moment::None) return;
  std::uint64_t fate = static_cast<std::uint64_t>(moment) << 32 | static_cast<std::uint64_t>(rank);
  if (!board.fate.compare_exchange_strong(fate, 0)) return;
  board.struck.fetch_add(1);
  kill(getpid(), SIGKILL);
  pause();
}

TransportMaker fated_transport(TransportMaker maker, Board& board, int rank) {
  return [maker = std::move(maker), &board, rank](TransportEvents events) -> std::unique_ptr<Transport> {
    pass(board, rank, Moment::Prepare);
    return std::make_unique<FatedTransport>(maker(std::move(events)), board, rank);
  };
}

std::shared_ptr<Store> fated_store(std::shared_ptr<Store> store, Board& board, int rank) {
  return std::make_shared<FatedStore>(std::move(store), board, rank);
}

}  // namespace resilin::dist::test
