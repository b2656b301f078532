// src/resilin/dist/group/failure.cpp -- failures as exceptions.
#include "resilin/dist/group/failure.h"

#include <utility>

namespace resilin::dist {

void throw_failure(const Failure& failure, const std::string& work, DistPlace place) {
  std::string text = cat(work, ": ", failure.text);
  place.ranks = failure.ranks;
  switch (failure.kind) {
    case FailureKind::PeerLost: throw PeerError(std::move(text), std::move(place));
    case FailureKind::PeerLeft: throw PeerLeftError(std::move(text), std::move(place));
    case FailureKind::Timeout: throw TimeoutError(std::move(text), std::move(place));
    case FailureKind::Mismatch: throw MismatchError(std::move(text), std::move(place));
    case FailureKind::Evicted: throw EvictedError(std::move(text), std::move(place));
    case FailureKind::None:
    case FailureKind::Aborted:
    case FailureKind::Replaced:
    case FailureKind::Destroyed: break;
  }
  throw CancelledError(std::move(text), std::move(place));
}

}  // namespace resilin::dist
