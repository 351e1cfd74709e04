// What the runtime and a supervisor say to each other. Both are the same build, or the same version
// of this file: kVersion goes up when it changes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/os/process.h"

namespace supervisor {

inline constexpr std::uint32_t kVersion = 1;

// Where a supervisor finds what it inherits.
inline constexpr int kRequestFd = 3;    // A file with the encoded Request.
inline constexpr int kControlFd = 4;    // The first connection.
inline constexpr int kFirstFileFd = 5;  // The first file of the command, if it has any.

// Files in the folder of a command, which is the supervisor's working directory.
inline constexpr std::string_view kStateFile = "state.json";
inline constexpr std::string_view kSocketFile = "control";
// Which bytes of the log came from which stream; only there when both wrote something.
inline constexpr std::string_view kSegmentsFile = "segments";

// Input that the command has not read yet is held up to this size; more is refused.
inline constexpr std::size_t kInputBytesMax = 1024 * 1024;

struct Request {
    std::string boot_id;
    // Only argv, cwd, environment and the number of files. decode() gives files that own nothing;
    // the supervisor inherits them from kFirstFileFd on.
    base::ProcessSpec process{};
    bool tty{false};
    bool accepts_input{false};
    std::filesystem::path log;       // All output, from the first byte on; mode 0600.
    std::uint64_t log_bytes_max{0};  // Output beyond it is read, counted and dropped.
    friend bool operator==(const Request&, const Request&);
};
std::string encode(const Request& request);
// InvalidInput for anything that encode() of this version did not write.
base::Result<Request> decode(std::string_view bytes);

// The runtime gives orders; a supervisor answers Input, and only Input, in their order. That the
// command has ended, it reports that by hanging up, after its state is on disk.
enum class FrameKind : char {
    Input = 'i',
    CloseInput = 'c',
    Stop = 's',      // Payload: decimal milliseconds between SIGTERM and SIGKILL; 0: SIGKILL now.
    Accepted = 'a',  // Payload: decimal number of bytes.
    Refused = 'r',   // Payload: why, for people.
};
struct Frame {
    FrameKind kind{FrameKind::Input};
    std::string payload;
    friend bool operator==(const Frame&, const Frame&) = default;
};
std::string encode(const Frame& frame);

// Puts frames together from the pieces that a socket delivers.
class FrameReader {
public:
    void add(std::string_view bytes) { pending_ += bytes; }
    // The next whole frame, or nothing yet. InvalidInput: the peer does not speak this language.
    base::Result<std::optional<Frame>> next();

private:
    std::string pending_;
};

// Runs of bytes, one stream each. A command that goes back and forth between its streams more
// often is cut off there, or the list would outgrow the log.
inline constexpr std::uint64_t kSegmentsMax = std::uint64_t{8} << 20;
// So many are in memory at a time, on both sides.
inline constexpr std::size_t kSegmentsHeld = 256;
inline constexpr std::size_t kSegmentBytes = 9;  // Of one in the file.

// A run of bytes of the log.
struct Segment {
    bool is_err{false};
    std::uint64_t bytes{0};
    friend bool operator==(const Segment&, const Segment&) = default;
};
std::string encode(const std::vector<Segment>& segments);
base::Result<std::vector<Segment>> decode_segments(std::string_view bytes);

}  // namespace supervisor
