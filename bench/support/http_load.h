// HTTP clients that measure: many connections, one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/os/files.h"

namespace bench {

// A connected TCP socket to 127.0.0.1.
base::Fd connect_to(std::uint16_t port);

struct LoadResult {
    double per_second{0};
    double p50_ms{0};
    double p99_ms{0};
    std::size_t failures{0};  // Answers other than 200.
};

// Each connection sends `request` again as soon as it has the answer, for `time`.
LoadResult load(std::uint16_t port, const std::string& request, int connections,
                std::chrono::milliseconds time);

// Reads event streams until `stop()`; reports each event: which reader, its event_seq.
class StreamReaders {
public:
    // `path` is followed by every reader; returns when all have got their head.
    StreamReaders(std::uint16_t port, const std::string& path, int readers);
    // Reads what there is, for at most `wait`.
    void read(std::chrono::milliseconds wait,
              const std::function<void(std::size_t reader, std::int64_t seq)>& on_event);

private:
    struct Reader {
        base::Fd fd;
        std::string line;
    };
    std::vector<Reader> readers_;
    base::Fd epoll_;
};

}  // namespace bench
