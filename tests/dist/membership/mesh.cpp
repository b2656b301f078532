// tests/dist/membership/mesh.cpp -- members that run in threads of a test, over a mesh that is a table of addresses.
#include "tests/dist/membership/mesh.h"

#include <algorithm>

#include "resilin/base/overloaded.h"
#include "resilin/base/text.h"

namespace resilin::dist::live {

void Exchange::open(const std::string& address, LiveMember& member) {
  const std::lock_guard<std::mutex> lock(mutex_);
  open_[address] = &member;
}

void Exchange::close(const std::string& address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  open_.erase(address);
}

void Exchange::close_all(const LiveMember& member) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(open_, [&](const auto& entry) { return entry.second == &member; });
}

bool Exchange::deliver(const std::string& address, const MemberEvent& event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::map<std::string, LiveMember*>::iterator at = open_.find(address);
  if (at == open_.end()) return false;
  at->second->driver().post(event);
  return true;
}

LiveMember::LiveMember(Exchange& exchange, std::shared_ptr<Store> store, MemberOptions options)
    : exchange_(exchange), options_(options), driver_(options, std::move(store), [this](const MemberAction& action) { act(action); }) {
  driver_.post(member_event::Started{});
}

LiveMember::~LiveMember() {
  exchange_.close_all(*this);
  driver_.close();
  exchange_.close_all(*this);  // what it opened meanwhile
}

std::string LiveMember::address_in(std::uint64_t uuid) const { return cat("instance ", options_.instance, " in attempt ", uuid); }

void LiveMember::act(const MemberAction& action) {
  std::visit(
      Overloaded{[this](const member_action::PrepareMesh& order) {
                   const std::uint64_t uuid = order.attempt.uuid;
                   peers_.clear();
                   exchange_.open(address_in(uuid), *this);
                   driver_.post(member_event::MeshPrepared{uuid, address_in(uuid)});
                 },
                 [this](const member_action::Connect& order) {
                   peers_.push_back(order.address);
                   const member_event::HelloHeard hello{options_.instance, order.uuid, order.generation, order.digest};
                   if (!exchange_.deliver(order.address, hello)) {
                     driver_.post(member_event::PeerUnreachable{order.uuid, order.peer.instance});
                   }
                 },
                 [this](const member_action::CloseAdmission& order) {
                   driver_.post(member_event::AdmissionClosed{order.uuid, cat("blob of ", options_.instance)});
                 },
                 [this](const member_action::TellPeers& order) {
                   for (const std::string& peer : peers_) exchange_.deliver(peer, member_event::DecisionHeard{order.attempt});
                 },
                 [this](const member_action::DropMesh& order) { exchange_.close(address_in(order.uuid)); },
                 [this](const member_action::Install& order) {
                   exchange_.close(address_in(order.attempt.uuid));
                   note([&](Story& story) { story.installed.push_back(order.attempt); });
                 },
                 [this](const member_action::Revoke& order) { note([&](Story& story) { story.revoked.push_back(order.generation); }); },
                 [this](const member_action::Finished& order) { note([&](Story& story) { story.finished.push_back(order); }); },
                 [this](const member_action::Leave& order) { note([&](Story& story) { story.left = order; }); }, [](const auto&) {}},
      action);
}

LiveMember::Story LiveMember::story() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return story_;
}

bool LiveMember::comes_to(const std::function<bool(const Story&)>& is_so) const {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return is_so(story_); });
}

bool LiveMember::comes_to_generation_of(const std::vector<std::uint64_t>& instances) const {
  return comes_to([&](const Story& story) {
    return !story.installed.empty() && std::ranges::equal(story.installed.back().handles, instances, {}, &Handle::instance);
  });
}

member_action::Finished LiveMember::end_of(std::uint64_t uuid) const {
  member_action::Finished end;
  comes_to([&](const Story& story) {
    for (const member_action::Finished& finished : story.finished) {
      if (finished.uuid == uuid) end = finished;
    }
    return end.uuid == uuid;
  });
  return end;
}

}  // namespace resilin::dist::live
