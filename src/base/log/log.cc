#include "base/log/log.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/os/files.h"
#include "base/text.h"
#include "base/time.h"

namespace base {
namespace {

std::atomic<Level> level_max{Level::Info};

struct Output {
    std::mutex mutex;
    std::function<void(std::string_view)> sink;
    std::shared_ptr<const std::function<std::string(std::string)>> filter;
};

// Never destroyed, so that a thread that outlives main can still log.
Output& output() {
    static auto* const the_output = new Output;
    return *the_output;
}

std::string_view name_of(Level level) {
    switch (level) {
        case Level::Error:
            return "ERROR";
        case Level::Warn:
            return "WARN";
        case Level::Info:
            return "INFO";
        case Level::Debug:
            return "DEBUG";
    }
    return "?";
}

}  // namespace

void set_log_level(Level level) {
    level_max = level;
}

bool is_logged(Level level) {
    return level <= level_max.load(std::memory_order_relaxed);
}

void set_log_sink(std::function<void(std::string_view)> sink) {
    const std::scoped_lock lock(output().mutex);
    output().sink = std::move(sink);
}

void set_log_filter(std::function<std::string(std::string)> filter) {
    const std::scoped_lock lock(output().mutex);
    output().filter =
        filter ? std::make_shared<const std::function<std::string(std::string)>>(std::move(filter))
               : nullptr;
}

void log_text(Level level, fmt::string_view text, fmt::format_args args) {
    if (!is_logged(level)) return;
    std::string said = fmt::vformat(text, args);
    {
        std::unique_lock lock(output().mutex);
        const auto filter = output().filter;
        lock.unlock();
        if (filter) said = (*filter)(std::move(said));
    }
    // The clock is read here and not passed in: a line says when it was written, also in a test
    // with a fake clock.
    std::string line = fmt::format("{} {} {}", to_text(SystemClock().now()), name_of(level),
                                   printable(to_utf8(said)));
    const std::scoped_lock lock(output().mutex);
    if (output().sink) return output().sink(line);
    line += '\n';
    // A failure of standard error itself cannot be reported anywhere.
    (void)write_all(STDERR_FILENO, line);
}

}  // namespace base
