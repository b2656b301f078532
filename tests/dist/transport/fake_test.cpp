// tests/dist/transport/fake_test.cpp -- the transport of tests keeps what every transport promises, unruly or not, and its faults are faults.
#include "resilin/dist/transport/fake.h"

#include <array>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/dist/transport/conformance.h"

namespace resilin::dist {
namespace {

TEST_CASE("fake is a transport") {
  FakeFabric fabric;
  testing::run_conformance({.make = fabric.maker(0)});
}

TEST_CASE("an unruly fake is a transport") {
  FakeFabric fabric(17);
  testing::run_conformance({.make = fabric.maker(0)});
}

TEST_CASE("fake: a cut is silent, and a death is told where it is announced") {
  FakeFabric fabric;
  std::vector<std::string> told;
  TransportEvents events{.note = [&](int, std::string_view bytes) { told.emplace_back(bytes); },
                         .lost = [&](int peer, const std::string& why) { told.push_back(std::to_string(peer) + " " + why); }};
  const std::unique_ptr<Transport> a = fabric.maker(0)(events), b = fabric.maker(1)({});
  a->join(0, 2);
  b->join(1, 2);
  a->connect(1, b->address());
  b->connect(0, a->address());
  fabric.cut(0, 1);
  b->send_note(0, "unheard");
  fabric.mend(0, 1);
  b->send_note(0, "heard");
  a->progress();
  CHECK(told == std::vector<std::string>{"heard"});
  fabric.kill(1, false);
  a->progress();
  CHECK(told.size() == 1);
  fabric.kill(1);
  a->progress();
  CHECK(told.size() == 1);  // a death that is not announced stays so
  FakeFabric other;
  const std::unique_ptr<Transport> c = other.maker(0)(events), d = other.maker(1)({});
  c->join(0, 2);
  c->connect(1, d->address());
  Pending pending;
  std::array<std::byte, 4> bytes{};
  c->receive(1, {}, bytes, pending);
  other.kill(1);
  c->progress();
  CHECK(told.back() == "1 its process is gone");
  CHECK(pending.is_done());
  CHECK(pending.fault == TransferFault::PeerLost);
}

}  // namespace
}  // namespace resilin::dist
