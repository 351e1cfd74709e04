// Server-sent events, as far as model APIs and MCP servers use them. Pure.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace provider {

// Turns a body that arrives in pieces, cut anywhere, into events. An event is its `data`: several
// data lines are joined by newlines. `id` and `retry` are kept; other fields and comments are
// skipped. Lines may end in LF, CR or both. What it holds is bounded by the size of the body it is
// given.
class SseReader {
public:
    using Handler = std::function<void(std::string_view data)>;

    // Calls `on_event` for each event that `chunk` completes.
    void add(std::string_view chunk, const Handler& on_event);
    // The body is complete: an event that lacks its blank line counts too.
    void finish(const Handler& on_event);

    // The id of the last complete event that had one; empty when none had.
    const std::string& last_id() const { return last_id_; }
    // How long the server asks to wait before the stream is opened again.
    std::optional<std::chrono::milliseconds> retry() const { return retry_; }

private:
    void take_line(std::string_view line, const Handler& on_event);
    void end_event(const Handler& on_event);

    std::string line_;  // What came of a line so far.
    std::string data_;
    std::string id_;  // Of the event so far.
    std::string last_id_;
    std::optional<std::chrono::milliseconds> retry_;
    bool has_data_{false};
    bool after_cr_{false};  // An LF that follows belongs to it.
    bool at_start_{true};
};

}  // namespace provider
