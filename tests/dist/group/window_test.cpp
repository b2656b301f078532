// tests/dist/group/window_test.cpp -- one-sided memory, shared and by messages.
#include "resilin/dist/group/window.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/group/note.h"
#include "resilin/dist/wire/codec.h"

#include "tests/support/ranks.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;
using test::message_of;
using test::Ranks;

std::span<const std::byte> bytes_of_text(const std::string& text) { return std::as_bytes(std::span(text)); }

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

void exercise(ProcessGroup& group, bool passive) {
  const int rank = group.rank(), next = (rank + 1) % group.size(), before = (rank + group.size() - 1) % group.size();
  const std::uint64_t mine = 20'000 + 1000 * static_cast<std::uint64_t>(rank), theirs = 20'000 + 1000 * static_cast<std::uint64_t>(next);
  Window window(group, mine);
  require(window.is_passive() == passive, "passive");
  require(window.size_bytes(next) == theirs, "size");
  require(window.map_remote(next).has_value() == passive, "mapped");
  const std::string text(10'001, static_cast<char>('a' + rank));
  for (int round = 0; round < 5; ++round) {
    window.put(next, 7, bytes_of_text(text));
    window.put(next, theirs, {});
    window.signal(next, 3);
    window.wait_signal(3, 1, milliseconds(20'000));
    const char* data = static_cast<const char*>(window.tensor().data());
    require(data[6] == 0 && data[7] == 'a' + before && data[7 + 10'000] == 'a' + before && data[7 + 10'001] == 0, "put");
    group.barrier().wait();
    std::string got(10'001, ' ');
    window.get(before, 7, std::as_writable_bytes(std::span(got)));
    require(got == std::string(10'001, static_cast<char>('a' + (before + group.size() - 1) % group.size())), "get");
    group.barrier().wait();
  }
  for (int i = 0; i < 100; ++i) window.fetch_add(0, 16'000, 2);
  window.flush(0);
  group.barrier().wait();
  require(window.fetch_add(0, 16'000, 0) == 200u * static_cast<unsigned>(group.size()), "fetch_add");
  group.barrier().wait();
  const bool won = window.compare_swap(0, 16'008, 0, static_cast<std::uint64_t>(rank) + 1) == 0;
  group.barrier().wait();
  std::uint64_t winner = 0;
  window.get(0, 16'008, std::as_writable_bytes(std::span(&winner, 1)));
  require((winner == static_cast<std::uint64_t>(rank) + 1) == won, "compare_swap");
  const auto refused = [&](std::uint64_t offset, std::size_t count) {
    std::vector<std::byte> bytes(count);
    return message_of([&] { window.put(next, offset, bytes); }) ==
               cat("window: bytes ", offset, " to ", offset, " + ", count, " of rank ", next, "; it has ", theirs) &&
           message_of([&] { window.get(next, offset, bytes); }) != "nothing was thrown";
  };
  require(refused(theirs, 1) && refused(theirs - 4, 5) && refused(~std::uint64_t{0}, 2), "bounds");
  require(message_of([&] { window.fetch_add(0, 4, 1); }).find("multiple of 8") != std::string::npos, "alignment");
  require(message_of([&] { window.put(group.size(), 0, {}); }).find("no rank") != std::string::npos, "rank");
  require(message_of([&] { window.wait_signal(3, 1, milliseconds(20)); }).find("has counted 0 of 1") != std::string::npos, "patience");
  window.destroy();
}

TEST_CASE("window: put, get, atomics, signals and bounds in shared memory") {
  Ranks ranks(3);
  ranks.reconfigure(ranks.all());
  ranks.run([](int, ProcessGroup& group) { exercise(group, true); });
}

TEST_CASE("window: the same by messages, where memory cannot be shared") {
  Ranks ranks(3, 11, [](GroupOptions& options) { options.shares_memory = false; });
  ranks.reconfigure(ranks.all());
  ranks.run([](int, ProcessGroup& group) { exercise(group, false); });
}

/// Reads that have been asked for and not answered: now, and at most.
struct Reads {
  std::atomic<int> open{0}, most{0};
  void ask() {
    const int now = ++open;
    if (now > most) most = now;
  }
};

/// Counts reads.
class CountingTransport final : public Transport {
 public:
  CountingTransport(std::unique_ptr<Transport> inner, Reads& reads) : inner_(std::move(inner)), reads_(reads) {}
  std::string address() const override { return inner_->address(); }
  void join(int rank, int size) override { inner_->join(rank, size); }
  void connect(int peer, std::string_view address) override { inner_->connect(peer, address); }
  void send(int peer, const Tag& tag, std::span<const std::byte> bytes, Pending& pending) override {
    inner_->send(peer, tag, bytes, pending);
  }
  void receive(int peer, const Tag& tag, std::span<std::byte> bytes, Pending& pending) override {
    inner_->receive(peer, tag, bytes, pending);
  }
  void send_note(int peer, std::string_view bytes) override {
    if (is(bytes, note::WindowMessage::Kind::Get)) reads_.ask();
    inner_->send_note(peer, bytes);
  }
  bool progress() override { return inner_->progress(); }
  void give_up(int peer, const std::string& why) override { inner_->give_up(peer, why); }
  void close() override { inner_->close(); }
  int wake_descriptor() const override { return inner_->wake_descriptor(); }
  bool arm() override { return inner_->arm(); }
  void wake() override { inner_->wake(); }
  std::string lanes(int peer) const override { return inner_->lanes(peer); }

  static bool is(std::string_view bytes, note::WindowMessage::Kind kind) {
    const note::Note note = decode<note::Note>(bytes);
    const auto* const message = std::get_if<note::WindowMessage>(&note);
    return message != nullptr && message->kind == kind;
  }
  static TransportMaker maker(TransportMaker inner, Reads& reads) {
    return [inner = std::move(inner), &reads](TransportEvents events) -> std::unique_ptr<Transport> {
      events.note = [&reads, take = std::move(events.note)](int peer, std::string_view bytes) {
        if (is(bytes, note::WindowMessage::Kind::Reply)) --reads.open;
        take(peer, bytes);
      };
      return std::make_unique<CountingTransport>(inner(std::move(events)), reads);
    };
  }

 private:
  const std::unique_ptr<Transport> inner_;
  Reads& reads_;
};

TEST_CASE("window: a long read by messages has many of its pieces under way at once, and not more than a bounded number") {
  constexpr std::size_t kBytes = 3'000'001;
  std::array<Reads, 2> reads;
  std::size_t made = 0;
  Ranks ranks(2, 5, [&](GroupOptions& options) {
    options.shares_memory = false;
    options.transport = CountingTransport::maker(options.transport, reads[made++]);
  });
  ranks.reconfigure(ranks.all());
  const auto byte_at = [](int rank, std::size_t i) {
    return static_cast<std::byte>((i * 131 + i / 3072 + static_cast<std::size_t>(rank)) & 255);
  };
  ranks.run([&](int, ProcessGroup& group) {
    const int rank = group.rank(), other = 1 - rank;
    const Window window(group, kBytes);
    std::byte* const own = static_cast<std::byte*>(window.tensor().data());
    for (std::size_t i = 0; i < kBytes; ++i) own[i] = byte_at(rank, i);
    group.barrier().wait();
    for (const std::size_t begin : {std::size_t{0}, std::size_t{77'777}}) {
      std::vector<std::byte> got(kBytes - begin);
      window.get(other, begin, got);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != byte_at(other, begin + i) ? 1 : 0;
      require(wrong == 0, cat(wrong, " bytes are wrong"));
    }
    group.barrier().wait();
  });
  for (const Reads& one : reads) {
    CHECK(one.open == 0);
    CHECK(one.most >= 64);
    CHECK(one.most <= 256);
  }
}

TEST_CASE("window: over memory that outlives it, which keeps its bytes from generation to generation") {
  for (const bool shared : {true, false}) {
    CAPTURE(shared);
    Ranks ranks(2, 0, [&](GroupOptions& options) { options.shares_memory = shared; });
    const std::vector<WindowMemory> memories = {WindowMemory(100), WindowMemory(200)};
    for (int round = 0; round < 3; ++round) {
      ranks.reconfigure(ranks.all());
      ranks.run([&](int process, ProcessGroup& group) {
        const WindowMemory& memory = memories[static_cast<std::size_t>(process)];
        char* const own = static_cast<char*>(memory.tensor().data());
        require(own[5] == (round == 0 ? 0 : 'a' + round - 1), "what the window before has left");
        const Window window(group, memory);
        require(window.size_bytes(0) == 100 && window.size_bytes(1) == 200, "size");
        require(window.tensor().data() == memory.tensor().data(), "the same memory");
        const std::string text(1, static_cast<char>('a' + round));
        window.put(1 - process, 5, bytes_of_text(text));
        window.signal(1 - process, 3);
        if (round == 2) window.wait_signal(3, 1, milliseconds(20'000));
        window.flush(1 - process);
        group.barrier().wait();
        require(own[5] == text[0], "put");
        if (round < 2) return;  // with a signal that nobody has waited for: the next window begins at 0
        require(message_of([&] { window.wait_signal(3, 1, milliseconds(20)); }).find("has counted 0 of 1") != std::string::npos,
                "old signals");
      });
    }
    CHECK_THROWS_AS(Window(ranks[0], WindowMemory()), ArgumentError);
  }
}

TEST_CASE("window: a dead rank and a new generation end it") {
  for (const bool shared : {true, false}) {
    CAPTURE(shared);
    Ranks ranks(3, 0, [&](GroupOptions& options) { options.shares_memory = shared; });
    ranks.reconfigure(ranks.all());
    std::vector<std::unique_ptr<Window>> windows(3);
    ranks.run([&](int process, ProcessGroup& group) { windows[static_cast<std::size_t>(process)] = std::make_unique<Window>(group, 64); });
    ranks.fabric().kill(2);
    for (const int process : {0, 1}) {
      const std::string message = message_of([&] { windows[static_cast<std::size_t>(process)]->wait_signal(0, 1, milliseconds(10'000)); });
      CAPTURE(message);
      CHECK(message.find("rank 2 is gone") != std::string::npos);
      CHECK_THROWS_AS(windows[static_cast<std::size_t>(process)]->flush(2), PeerError);
    }
    ranks.reconfigure({0, 1});
    ranks.run({0, 1},
              [&](int process, ProcessGroup& group) { windows[static_cast<std::size_t>(process)] = std::make_unique<Window>(group, 64); });
    ranks.reconfigure({0, 1});  // while puts are possible
    for (const int process : {0, 1}) {
      const Window& window = *windows[static_cast<std::size_t>(process)];
      std::byte byte{};
      CHECK_THROWS_AS(window.flush(1 - process), StaleError);
      CHECK_THROWS_AS(window.get(1 - process, 0, {&byte, 1}), StaleError);
      CHECK_THROWS_AS(window.put(1 - process, 0, {&byte, 1}), StaleError);
      CHECK_THROWS_AS(window.wait_signal(0, 1, milliseconds(10'000)), StaleError);
    }
  }
}

}  // namespace
}  // namespace resilin::dist
