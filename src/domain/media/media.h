// An image that a tool gave back, as records name it: the bytes are in a file.
#pragma once

#include <cstdint>
#include <string>

#include "base/typed.h"

namespace domain {

// `file` is a name in the folder with the agent's artifacts. Each reader compares the digest:
// a file that is gone or has changed is not shown.
struct Media {
    std::string mime_type;  // As its first bytes say, not as its sender says.
    std::string file;
    std::string sha256;
    std::int64_t bytes{0};
    std::int64_t width{0};  // In pixels.
    std::int64_t height{0};
    friend bool operator==(const Media&, const Media&) = default;
};
BOOST_DESCRIBE_STRUCT(Media, (), (mime_type, file, sha256, bytes, width, height))

}  // namespace domain
