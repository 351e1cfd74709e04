// What a connection writes to a client that follows something: frames of server-sent events.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace http_surface {

using FrameText = std::shared_ptr<const std::string>;

// One reader's cursor. Lives on the server's loop.
class FrameStream {
public:
    virtual ~FrameStream() = default;

    // The next frames, at most about `bytes_max` of them but at least one if there is any; they
    // are not given again. Empty: the reader is woken when there are more, or when it is over.
    virtual std::vector<FrameText> take(std::size_t bytes_max) = 0;
    // After an empty take(): nothing more will come.
    virtual bool is_over() const = 0;
};

}  // namespace http_surface
