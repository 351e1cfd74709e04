// One output stream of a process, held in bounded memory and, past the bound, in a file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/os/files.h"
#include "base/os/process.h"

namespace base {

// The spill file is created (mode 0600, replacing the content of one that is there) by the byte
// that exceeds the bound, and then gets all bytes from the first on. When that fails, the file is
// removed, and counting, hashing and the two ends in memory continue.
class StreamCapture {
public:
    StreamCapture(std::size_t memory_bytes_max, std::filesystem::path spill);

    void add(std::string_view bytes);
    // What was captured. Nothing may be added afterwards.
    CapturedStream finish();

private:
    void open_spill();
    void write_spill(std::string_view bytes);
    void keep_tail(std::string_view bytes);

    const std::size_t memory_bytes_max_;
    const std::size_t half_;
    const std::filesystem::path spill_path_;
    Fd spill_;
    Sha256 hash_;
    bool ends_in_newline_{true};
    CapturedStream stream_;
};

}  // namespace base
