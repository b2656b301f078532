// src/resilin/dist/group/group_body.h -- Internal: a process's side of a group: its member, its meshes, its hooks.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "resilin/dist/group/mesh.h"
#include "resilin/dist/group/process_group.h"
#include "resilin/dist/membership/member_driver.h"

namespace resilin::dist {

/// What a member writes with READY.
struct ReadyBlob {
  bool reads_all_peers = false;
  std::string text;
  static constexpr auto fields() {
    return std::tuple{field("reads_all_peers", &ReadyBlob::reads_all_peers), field("text", &ReadyBlob::text)};
  }
};
inline constexpr std::size_t kMostUserBlobBytes = 200;

/// Does what the member's machine asks for: makes the next mesh beside the current one, and puts it in its place.
class ProcessGroup::Body {
 public:
  explicit Body(GroupOptions options);
  ~Body();

  std::shared_ptr<Mesh> mesh() const;
  GenerationInfo info() const;
  GenerationInfo reconfigure(const ReconfigureOptions& options);
  GenerationInfo await_generation(std::uint64_t after, std::chrono::milliseconds timeout);
  void set_blob(std::string blob);
  std::optional<std::uint64_t> held_change() const;
  bool admit_change(std::uint64_t change);
  Work start(Collective collective);
  void abort(const std::string& reason);
  void destroy();

  const GroupOptions& options() const { return options_; }
  std::string handle() const { return print_handle(driver_->handle()); }

  const std::shared_ptr<SharedHooks<CollectiveEvent>> pre_hooks = std::make_shared<SharedHooks<CollectiveEvent>>();
  const std::shared_ptr<SharedHooks<CollectiveEvent>> post_hooks = std::make_shared<SharedHooks<CollectiveEvent>>();
  const std::shared_ptr<SharedHooks<CollectiveEvent>> completion_hooks = std::make_shared<SharedHooks<CollectiveEvent>>();
  const std::shared_ptr<SharedHooks<AbortEvent>> abort_hooks = std::make_shared<SharedHooks<AbortEvent>>();
  const std::shared_ptr<SharedHooks<MembershipChange>> membership_hooks = std::make_shared<SharedHooks<MembershipChange>>();

 private:
  struct Ended {
    Verdict verdict = Verdict::Abort;
    std::string text;
  };

  void act(const MemberAction& action);
  void perform(const member_action::AskStore&) {}  // the driver's, as the next
  void perform(const member_action::ForgetStore&) {}
  void perform(const member_action::PrepareMesh& action);
  void perform(const member_action::Connect& action);
  void perform(const member_action::CloseAdmission& action);
  void perform(const member_action::OpenAdmission& action);
  void perform(const member_action::DropMesh& action);
  void perform(const member_action::TellPeers& action);
  void perform(const member_action::Install& action);
  void perform(const member_action::Revoke& action);
  void perform(const member_action::Finished& action);
  void perform(const member_action::Leave& action);

  std::shared_ptr<Mesh> make_mesh(const Attempt& attempt);
  MeshEvents mesh_events(const Attempt& attempt);
  bool holds_changes() const;
  void hold(const member_action::CloseAdmission& action);
  void end_hold();
  void close_admission(const member_action::CloseAdmission& action);
  void tell_membership(MembershipPhase phase, const Attempt& attempt);
  std::shared_ptr<Mesh> known_mesh(const Collective& collective) const;
  CollectiveEvent event_of(const Mesh& mesh, const Collective& collective) const;
  GenerationInfo info_locked() const;
  static GenerationInfo info_of(const Mesh& mesh);
  [[noreturn]] void throw_gone(const std::string& what) const;

  const GroupOptions options_;
  const std::uint64_t instance_;
  const std::shared_ptr<Store> store_;  // where this group's keys are
  mutable std::mutex mutex_;            // guards what follows
  mutable std::condition_variable changed_;
  std::shared_ptr<Mesh> current_;  // null before the first generation
  std::shared_ptr<Mesh> next_;     // while an attempt is under way
  std::string blob_;
  std::uint64_t held_ = 0;                               // the attempt that waits for the program's word
  bool admits_held_ = false;                             // which came, or is not waited for any more
  std::thread hold_;                                     // waits for it
  std::uint64_t changing_ = 0;                           // the attempt under way
  std::uint64_t known_generation_ = 0;                   // of a lineage: the one that the program was told of
  std::map<std::uint64_t, std::optional<Ended>> asked_;  // the attempts that calls of `reconfigure` wait for
  std::string gone_;                                     // why this process is no member any more
  bool store_is_gone_ = false;                           // which was away for too long
  bool destroyed_ = false;
  std::unique_ptr<MemberDriver> driver_;  // last: its thread uses all of the above
};

}  // namespace resilin::dist
