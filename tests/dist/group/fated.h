// tests/dist/group/fated.h -- Internal: a transport and a store in which a rank is killed at a chosen moment of the protocol.
#pragma once

#include <memory>

#include "resilin/dist/store/store.h"
#include "resilin/dist/transport/transport.h"

#include "tests/dist/group/board.h"

namespace resilin::dist::test {

/// SIGKILL to this process when the board has this moment for this launch rank, once.
void pass(Board& board, int rank, Moment moment);

/// The maker's transports, which pass the moments of the mesh.
TransportMaker fated_transport(TransportMaker maker, Board& board, int rank);
/// The store, whose requests pass the moments of the agreement.
std::shared_ptr<Store> fated_store(std::shared_ptr<Store> store, Board& board, int rank);

}  // namespace resilin::dist::test
