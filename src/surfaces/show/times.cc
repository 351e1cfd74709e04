#include "surfaces/show/times.h"

#include <array>
#include <ctime>

namespace show {
namespace {

std::string formatted(base::Time time, const char* format) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(
        std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
    std::tm local{};
    if (localtime_r(&seconds, &local) == nullptr) return base::to_text(time);
    std::array<char, 64> text{};
    return {text.data(), std::strftime(text.data(), text.size(), format, &local)};
}

// "+0100" -> "+01:00"
std::string offset(base::Time time) {
    std::string text = formatted(time, "%z");
    if (text.size() == 5) text.insert(3, ":");
    return text;
}

}  // namespace

std::string local_time(base::Time time) {
    return formatted(time, "%Y-%m-%d %H:%M:%S") + offset(time);
}

std::string local_clock(base::Time time) {
    return formatted(time, "%H:%M:%S") + offset(time);
}

std::string local_day(base::Time time) {
    return formatted(time, "%Y-%m-%d");
}

std::string duration_text(std::int64_t milliseconds) {
    if (milliseconds < 10'000)
        return fmt::format("{:.1f}s", static_cast<double>(milliseconds) / 1000);
    const std::int64_t seconds = milliseconds / 1000;
    if (seconds < 60) return fmt::format("{}s", seconds);
    if (seconds < 3600) return fmt::format("{}m {:02}s", seconds / 60, seconds % 60);
    return fmt::format("{}h {:02}m", seconds / 3600, seconds / 60 % 60);
}

std::string age_text(std::int64_t seconds) {
    if (seconds < 5) return "just now";
    if (seconds < 120) return fmt::format("{}s ago", seconds);
    if (seconds < 7200) return fmt::format("{}m ago", seconds / 60);
    if (seconds < 172'800) return fmt::format("{}h ago", seconds / 3600);
    return fmt::format("{}d ago", seconds / 86'400);
}

}  // namespace show
