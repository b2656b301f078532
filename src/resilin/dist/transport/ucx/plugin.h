// src/resilin/dist/transport/ucx/plugin.h -- Internal: the C table between the library and the UCX plug-in; no exception crosses it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "resilin/dist/transport/transport.h"

namespace resilin::dist {

/// Grows with every change of this header or of Pending.
inline constexpr std::uint64_t kUcxTableVersion = 2;
inline constexpr char kUcxTableSymbol[] = "resilin_ucx_table";

/// One rank's connections of one generation, inside the plug-in.
struct UcxWorker;

/// What the connections may be made of, by UCX's names.
struct UcxSettings {
  const char* transports;  // "posix,tcp"
  const char* interface;   // "lo"
  const char* folder;      // in the machine's memory, where segments have a name for the moment in which they are made
};

/// A sentence, zero-terminated.
struct UcxError {
  char text[512];
};

struct UcxMessage {
  int peer;
  std::uint64_t tag;  // of pack_tag
  void* bytes;        // read by send, written by receive
  std::size_t count;
};

/// What has happened since the last question.
struct UcxEvent {
  int peer;
  int lost;           // 1: the bytes say why the peer is lost; 0: they are a note of it
  const char* bytes;  // good until the next question
  std::size_t count;
};

/// What libresilin_ucx.so exports under kUcxTableSymbol. One thread at a time may be in the functions of one worker, except `wake`.
struct UcxTable {
  std::uint64_t version;
  std::size_t pending_bytes;  // sizeof(Pending), so that a plug-in of another build is refused
  /// "1.13.1"
  const char* (*engine_version)();
  /// 1 when UCX has put handlers of its own on signals of this process.
  int (*catches_signals)();

  /// Gives back null with a sentence in `error` when it cannot be made.
  UcxWorker* (*make)(const UcxSettings* settings, UcxError* error);
  /// Closes all connections by force and ends every request, after which nothing of the engine is left that could touch memory.
  void (*destroy)(UcxWorker* worker);

  /// Copies at most `most` bytes and gives back how many there are, as `lanes` does.
  std::size_t (*address)(const UcxWorker* worker, char* bytes, std::size_t most);
  /// The lanes as ucp_ep_print_info prints them.
  std::size_t (*lanes)(const UcxWorker* worker, int peer, char* text, std::size_t most);
  void (*join)(UcxWorker* worker, int rank, int size);
  /// Gives back 0, or 1 with a sentence in `error`.
  int (*connect)(UcxWorker* worker, int peer, const char* address, std::size_t count, UcxError* error);

  void (*send)(UcxWorker* worker, const UcxMessage* message, Pending* pending);
  void (*receive)(UcxWorker* worker, const UcxMessage* message, Pending* pending);
  void (*send_note)(UcxWorker* worker, int peer, const char* bytes, std::size_t count);
  /// Gives back 1 when something was done.
  int (*progress)(UcxWorker* worker);
  /// Gives back 1 when there was an event.
  int (*next_event)(UcxWorker* worker, UcxEvent* event);
  void (*give_up)(UcxWorker* worker, int peer, const char* why);
  /// How many may be connecting to this worker at this moment, which UCX does not always survive when the worker is destroyed meanwhile.
  int (*connecting_peers)(const UcxWorker* worker);

  int (*wake_descriptor)(const UcxWorker* worker);
  int (*arm)(UcxWorker* worker);
  void (*wake)(UcxWorker* worker);
};

}  // namespace resilin::dist
