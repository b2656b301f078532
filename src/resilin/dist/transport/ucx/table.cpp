// src/resilin/dist/transport/ucx/table.cpp -- what libresilin_ucx.so exports.
#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include <ucs/config/global_opts.h>
#include <ucs/sys/compiler_def.h>

#include "resilin/dist/transport/ucx/context.h"
#include "resilin/dist/transport/ucx/worker.h"

namespace resilin::dist {

struct UcxWorker {
  explicit UcxWorker(const UcxSettings& settings) : worker(settings) {}
  ucx::Worker worker;
};

namespace {

void say(UcxError& error, std::string_view text) {
  const std::size_t count = std::min(text.size(), sizeof error.text - 1);
  std::memcpy(error.text, text.data(), count);
  error.text[count] = '\0';
}

std::size_t copy_out(std::string_view from, char* to, std::size_t most) {
  std::memcpy(to, from.data(), std::min(from.size(), most));
  return from.size();
}

const char* engine_version() noexcept { return ucp_get_version_string(); }

int catches_signals() noexcept {
  const unsigned catching = UCS_BIT(UCS_HANDLE_ERROR_BACKTRACE) | UCS_BIT(UCS_HANDLE_ERROR_FREEZE) | UCS_BIT(UCS_HANDLE_ERROR_DEBUG);
  return (ucs_global_opts.handle_errors & catching) != 0 ? 1 : 0;
}

UcxWorker* make(const UcxSettings* settings, UcxError* error) noexcept {
  try {
    return new UcxWorker(*settings);
  } catch (const std::exception& refusal) {
    say(*error, refusal.what());
    return nullptr;
  }
}

void destroy(UcxWorker* worker) noexcept { delete worker; }

std::size_t address(const UcxWorker* worker, char* bytes, std::size_t most) noexcept {
  return copy_out(worker->worker.address(), bytes, most);
}

std::size_t lanes(const UcxWorker* worker, int peer, char* text, std::size_t most) noexcept {
  return copy_out(worker->worker.lanes(peer), text, most);
}

void join(UcxWorker* worker, int rank, int size) noexcept { worker->worker.join(rank, size); }

int connect(UcxWorker* worker, int peer, const char* address, std::size_t count, UcxError* error) noexcept {
  try {
    worker->worker.connect(peer, {address, count});
    return 0;
  } catch (const std::exception& refusal) {
    say(*error, refusal.what());
    return 1;
  }
}

void send(UcxWorker* worker, const UcxMessage* message, Pending* pending) noexcept { worker->worker.send(*message, *pending); }

void receive(UcxWorker* worker, const UcxMessage* message, Pending* pending) noexcept { worker->worker.receive(*message, *pending); }

void send_note(UcxWorker* worker, int peer, const char* bytes, std::size_t count) noexcept {
  worker->worker.send_note(peer, {bytes, count});
}

int progress(UcxWorker* worker) noexcept { return worker->worker.progress() ? 1 : 0; }

int next_event(UcxWorker* worker, UcxEvent* event) noexcept { return worker->worker.next_event(*event) ? 1 : 0; }

void give_up(UcxWorker* worker, int peer, const char* why) noexcept { worker->worker.give_up(peer, why); }

int connecting_peers(const UcxWorker* worker) noexcept { return worker->worker.connecting_peers(); }

int wake_descriptor(const UcxWorker* worker) noexcept { return worker->worker.wake_descriptor(); }

int arm(UcxWorker* worker) noexcept { return worker->worker.arm() ? 1 : 0; }

void wake(UcxWorker* worker) noexcept { worker->worker.wake(); }

}  // namespace
}  // namespace resilin::dist

extern "C" __attribute__((visibility("default"))) const resilin::dist::UcxTable resilin_ucx_table = {
    .version = resilin::dist::kUcxTableVersion,
    .pending_bytes = sizeof(resilin::dist::Pending),
    .engine_version = resilin::dist::engine_version,
    .catches_signals = resilin::dist::catches_signals,
    .make = resilin::dist::make,
    .destroy = resilin::dist::destroy,
    .address = resilin::dist::address,
    .lanes = resilin::dist::lanes,
    .join = resilin::dist::join,
    .connect = resilin::dist::connect,
    .send = resilin::dist::send,
    .receive = resilin::dist::receive,
    .send_note = resilin::dist::send_note,
    .progress = resilin::dist::progress,
    .next_event = resilin::dist::next_event,
    .give_up = resilin::dist::give_up,
    .connecting_peers = resilin::dist::connecting_peers,
    .wake_descriptor = resilin::dist::wake_descriptor,
    .arm = resilin::dist::arm,
    .wake = resilin::dist::wake,
};
