// Log lines for the operator, on standard error: "2031-01-02T03:04:05.678901Z INFO text".
//
// Any thread may log. One call is one line, written at once: control characters are made visible
// and invalid UTF-8 is replaced, so untrusted text can neither forge a line nor control a terminal.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace base {

enum class Level { Error, Warn, Info, Debug };

// Lines above `level` are dropped before they are formatted. Info unless set.
void set_log_level(Level level);
bool is_logged(Level level);

// Lines, without their newline, go to `sink` instead; an empty one restores standard error. The
// sink is called by one thread at a time and must not log.
void set_log_sink(std::function<void(std::string_view line)> sink);

// The text of each line passes `filter` first; an empty filter changes nothing. Any thread may call
// the filter, several at a time, and it must not log.
void set_log_filter(std::function<std::string(std::string text)> filter);

// What the functions below share.
void log_text(Level level, fmt::string_view text, fmt::format_args args);

template <class... Args>
void log_error(fmt::format_string<Args...> text, Args&&... args) {
    log_text(Level::Error, text, fmt::make_format_args(args...));
}
template <class... Args>
void log_warn(fmt::format_string<Args...> text, Args&&... args) {
    log_text(Level::Warn, text, fmt::make_format_args(args...));
}
template <class... Args>
void log_info(fmt::format_string<Args...> text, Args&&... args) {
    log_text(Level::Info, text, fmt::make_format_args(args...));
}
template <class... Args>
void log_debug(fmt::format_string<Args...> text, Args&&... args) {
    log_text(Level::Debug, text, fmt::make_format_args(args...));
}

}  // namespace base
