// Files without a name: bytes that live in memory and are handed to a child as a descriptor.
#pragma once

#include <string_view>

#include "base/os/files.h"

namespace base {

enum class MemoryFile { Data, Program };

// A file with `bytes` as its content, which nobody can change any more: not the child that inherits
// it, and not another process that opens it through /proc. `name` is only shown in /proc. The
// descriptor closes on exec and lies above those that a program finds at its start. A Program can
// be executed through /proc/self/fd; its bytes must be embedded in this executable, and their pages
// are released once they are copied. Unavailable when the kernel refuses it. Any thread.
Result<Fd> make_memory_file(const char* name, std::string_view bytes, MemoryFile kind);

}  // namespace base
