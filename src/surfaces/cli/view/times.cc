#include "surfaces/cli/view/times.h"

#include <array>
#include <ctime>

namespace cli {
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

}  // namespace cli
