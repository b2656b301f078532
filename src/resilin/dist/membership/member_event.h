// src/resilin/dist/membership/member_event.h -- Internal: what happens to a member, and what it does about it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "resilin/dist/membership/records.h"
#include "resilin/dist/store/request.h"

namespace resilin::dist {

/// What happens to a member. Requests that it asks are repeated by their sender until they are answered or forgotten, whatever becomes of the
/// store meanwhile; StoreLost says that one could not be sent for some time, StoreBack that the store answers again.
namespace member_event {
/// The first event. One that follows the lineage announces itself then.
struct Started {};
/// The user's own list. It has no lineage.
struct Reconfigure {
  std::uint64_t uuid = 0;
  Handles handles;
  std::uint64_t timeout_ms = 0;  // 0: that of the options
};
struct StoreReplied {
  std::uint64_t id = 0;
  Reply reply;
};
struct StoreLost {};
struct StoreBack {};
/// This member's end of the new mesh stands, as PrepareMesh asked, and peers reach it at this address.
struct MeshPrepared {
  std::uint64_t uuid = 0;
  std::string address;
};
/// It cannot be made; `text` says why.
struct MeshFailed {
  std::uint64_t uuid = 0;
  std::string text;
};
/// Admission is closed as CloseAdmission asked; nothing of the old generation succeeds from here on.
struct AdmissionClosed {
  std::uint64_t uuid = 0;
  std::string blob;
};
/// A peer answered on the new mesh.
struct HelloHeard {
  std::uint64_t peer = 0;
  std::uint64_t uuid = 0;
  std::uint64_t generation = 0;
  std::uint64_t digest = 0;
};
/// A peer on the new mesh cannot be reached.
struct PeerUnreachable {
  std::uint64_t uuid = 0;
  std::uint64_t peer = 0;
};
/// A peer's copy of a decision.
struct DecisionHeard {
  Attempt attempt;
};
/// The installed generation does not work any more; `lost` are the peers that are the reason.
struct GenerationFailed {
  std::uint64_t generation = 0;
  std::vector<std::uint64_t> lost;
};
/// A detector's verdict.
struct Suspected {
  std::vector<std::uint64_t> instances;
};
struct TimePassed {
  std::uint64_t now_ms = 0;
};
}  // namespace member_event
using MemberEvent =
    std::variant<member_event::Started, member_event::Reconfigure, member_event::StoreReplied, member_event::StoreLost,
                 member_event::StoreBack, member_event::MeshPrepared, member_event::MeshFailed, member_event::AdmissionClosed,
                 member_event::HelloHeard, member_event::PeerUnreachable, member_event::DecisionHeard, member_event::GenerationFailed,
                 member_event::Suspected, member_event::TimePassed>;

/// What a member does.
///
/// Whoever holds the mesh sees PrepareMesh, then Connect for each peer, then CloseAdmission, then Install; or DropMesh after any of them but the
/// last. DropMesh and Install end what PrepareMesh began, one of them once, unless Leave ends everything.
namespace member_action {
struct AskStore {
  std::uint64_t id = 0;
  Request request;
};
/// The answer to a request is of no interest any more: it need not be asked again.
struct ForgetStore {
  std::uint64_t id = 0;
};
/// Make this member's end of the attempt's mesh, beside the installed one, then say MeshPrepared or MeshFailed.
struct PrepareMesh {
  Attempt attempt;
};
/// Say hello to a peer on the new mesh.
struct Connect {
  Handle peer;
  std::string address;
  std::uint64_t uuid = 0;
  std::uint64_t generation = 0;
  std::uint64_t digest = 0;
};
/// Close the old generation's admission, then say AdmissionClosed.
struct CloseAdmission {
  std::uint64_t uuid = 0;
  std::uint64_t generation = 0;
};
/// The attempt came to nothing after CloseAdmission: the old generation is what it was.
struct OpenAdmission {
  std::uint64_t generation = 0;
};
/// The attempt came to nothing: close its mesh, made or not.
struct DropMesh {
  std::uint64_t uuid = 0;
};
/// Tell all peers of the new mesh, which DropMesh or Install follows at once.
struct TellPeers {
  Attempt attempt;
};
/// Cancel the old generation's Work, close it by force, drain, then make this one the installed generation.
struct Install {
  Attempt attempt;
  std::uint64_t before = 0;
};
/// The installed generation is revoked: nothing of it succeeds from here on.
struct Revoke {
  std::uint64_t generation = 0;
  std::vector<std::uint64_t> lost;  // the instances that are the reason, as far as they are known
};
/// Reconfigure's Work ends: a success exactly when the verdict is Commit.
struct Finished {
  std::uint64_t uuid = 0;
  Verdict verdict = Verdict::Abort;
  std::string text;  // why not
};
/// The process has no place in the lineage any more, or has lost the store for too long: then it ends with kStoreGoneExitCode.
struct Leave {
  bool store_is_gone = false;
  std::string text;
};
}  // namespace member_action
using MemberAction =
    std::variant<member_action::AskStore, member_action::ForgetStore, member_action::PrepareMesh, member_action::Connect,
                 member_action::CloseAdmission, member_action::OpenAdmission, member_action::DropMesh, member_action::TellPeers,
                 member_action::Install, member_action::Revoke, member_action::Finished, member_action::Leave>;

}  // namespace resilin::dist
