#include "base/time.h"

#include <cctype>
#include <optional>

#include "base/text.h"

namespace base {
namespace {

constexpr std::size_t kQuotedCharsMax = 40;
constexpr std::size_t kQuotedBytesMax = 4 * kQuotedCharsMax;
constexpr int kYearMax = 9999;  // That four digits can write.

// Reads exactly `digits` digits at `at`; -1 when something else is there.
int read_number(std::string_view text, std::size_t at, std::size_t digits) {
    if (at + digits > text.size()) return -1;
    int number = 0;
    for (char c : text.substr(at, digits)) {
        if (c < '0' || c > '9') return -1;
        number = number * 10 + (c - '0');
    }
    return number;
}

// Writes the last `digits` digits of `number` at `at`.
void write_number(std::string& text, std::size_t at, std::size_t digits, std::int64_t number) {
    for (std::size_t i = at + digits; i-- > at; number /= 10)
        text[i] = static_cast<char>('0' + number % 10);
}

std::optional<Time> read_time(std::string_view text) {
    const int year = read_number(text, 0, 4), month = read_number(text, 5, 2),
              day = read_number(text, 8, 2);
    const int hour = read_number(text, 11, 2), minute = read_number(text, 14, 2),
              second = read_number(text, 17, 2);
    if (year < 0 || month < 1 || day < 1 || hour < 0 || minute < 0 || second < 0)
        return std::nullopt;
    if (hour > 23 || minute > 59 || second > 60) return std::nullopt;
    if (text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':') return std::nullopt;
    if (text[10] != 'T' && text[10] != 't' && text[10] != ' ') return std::nullopt;
    std::size_t at = 19;
    std::int64_t micros = 0;
    if (at < text.size() && text[at] == '.') {
        if (read_number(text, at + 1, 1) < 0) return std::nullopt;
        std::int64_t unit = 100'000;
        for (++at; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at) {
            micros += (text[at] - '0') * unit;
            unit /= 10;
        }
    }
    std::chrono::minutes offset{0};
    const std::string_view zone = text.substr(at);
    if (zone != "Z" && zone != "z") {
        const int zone_hours = read_number(zone, 1, 2), zone_minutes = read_number(zone, 4, 2);
        if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':')
            return std::nullopt;
        if (zone_hours < 0 || zone_hours > 23 || zone_minutes < 0 || zone_minutes > 59)
            return std::nullopt;
        offset = std::chrono::minutes((zone[0] == '-' ? -1 : 1) * (zone_hours * 60 + zone_minutes));
    }
    const std::chrono::year_month_day date{std::chrono::year(year),
                                           std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    if (!date.ok()) return std::nullopt;
    return Time(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
           std::chrono::minutes(minute) + std::chrono::seconds(second) +
           std::chrono::microseconds(micros) - offset;
}

}  // namespace

std::string to_text(Time time) {
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss clock{time - day};
    const auto year = static_cast<int>(date.year());
    if (year < 0 || year > kYearMax)
        return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", year,
                           static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                           clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                           clock.subseconds().count());
    // Without fmt: every record has some of these, and reading the format took longer than this.
    std::string text = "0000-00-00T00:00:00.000000Z";
    write_number(text, 0, 4, year);
    write_number(text, 5, 2, static_cast<unsigned>(date.month()));
    write_number(text, 8, 2, static_cast<unsigned>(date.day()));
    write_number(text, 11, 2, clock.hours().count());
    write_number(text, 14, 2, clock.minutes().count());
    write_number(text, 17, 2, clock.seconds().count());
    write_number(text, 20, 6, clock.subseconds().count());
    return text;
}

Result<Time> parse_time(std::string_view text) {
    if (const auto time = read_time(text)) return *time;
    return fail(ErrorCode::InvalidInput, "not an RFC 3339 time: '{}'",
                printable(first_chars(to_utf8(text.substr(0, kQuotedBytesMax)), kQuotedCharsMax)));
}

Time SystemClock::now() {
    return std::chrono::time_point_cast<std::chrono::microseconds>(
        std::chrono::system_clock::now());
}

}  // namespace base
