// src/resilin/base/file.h -- Internal: whole files read, mapped, replaced at once and locked.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace resilin {

/// The bytes of a file. Throws IoError naming path and reason, as all of this header does.
std::string read_file(const std::string& path);

/// Replaces `path` by these bytes: a reader, and a process after a crash, sees the old file or the whole new one.
/// The temporary file lies in the same folder, which must exist; the new file is readable by its owner only.
void atomic_write(const std::string& path, std::string_view bytes);
/// As above, of pieces that follow each other, so that they need not be joined in memory.
void atomic_write(const std::string& path, std::span<const std::string_view> pieces);

/// Makes the folder and its missing parents, each with mode 0700; fine when it is there.
void ensure_directory(const std::string& path);

/// The folder of the library or program that holds this code; plug-ins and the kernel pack lie beside it.
std::string code_folder();

/// The path of a plug-in's file: beside this code, or else beside the program; when it is in neither place, where it should be beside this code.
std::string plugin_path(const std::string& file);

/// What may be done to mapped memory. CopyOnWrite: a page that is written becomes the process's own; the file never changes.
enum class MapAccess { ReadOnly, CopyOnWrite };

/// A file mapped into memory. Who makes it shorter in place while it is mapped ends this process; replacing it by another file is fine.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path, MapAccess access = MapAccess::ReadOnly);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }
  /// Memory that may be written; only of a CopyOnWrite mapping.
  std::span<std::byte> writable_bytes() { return {data_, size_bytes_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

/// An advisory lock between processes and threads, held on a file that is made when missing; the end of the process frees it.
class FileLock {
 public:
  /// Waits until the lock is free.
  explicit FileLock(const std::string& path);
  /// Nothing when another holder has it.
  static std::optional<FileLock> try_lock(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace resilin
