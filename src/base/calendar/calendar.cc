#include "base/calendar/calendar.h"

#include <array>
#include <bitset>
#include <charconv>
#include <optional>
#include <vector>

#include <date/tz.h>

#include "base/text.h"

namespace calendar {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

struct Unit {
    std::string_view name;
    std::int64_t ms;
};
// The larger first, as they are written.
constexpr auto kUnits = std::to_array<Unit>({{"w", 604'800'000},
                                             {"d", 86'400'000},
                                             {"h", 3'600'000},
                                             {"m", 60'000},
                                             {"s", 1000},
                                             {"ms", 1}});
constexpr std::int64_t kAmountMax = 1'000'000'000;

std::unexpected<base::Error> no_duration(std::string_view text) {
    return fail(ErrorCode::InvalidInput,
                "'{}' is not a length of time; write it as 90s, 15m, 1h30m or 2d",
                base::printable(base::ellipsize(text, 40)));
}

std::optional<int> number(std::string_view text) {
    int value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size() || value < 0)
        return std::nullopt;
    return value;
}

Result<const date::time_zone*> zone_of(const std::string& name) {
    try {
        return date::locate_zone(name);
    } catch (const std::exception&) {
        return fail(ErrorCode::InvalidInput,
                    "the time zone '{}' is not known here; use a name such as Europe/Berlin or UTC",
                    base::printable(base::ellipsize(name, 60)));
    }
}

using LocalSeconds = date::local_seconds;

Result<base::Time> to_sys(const date::time_zone& zone, LocalSeconds local) {
    return base::Time(zone.to_sys(local, date::choose::earliest));
}

LocalSeconds to_local(const date::time_zone& zone, base::Time time) {
    return date::floor<std::chrono::seconds>(
        zone.to_local(std::chrono::time_point_cast<std::chrono::seconds>(time)));
}

// "09:00" or "09:00:30" as seconds since midnight.
std::optional<std::chrono::seconds> time_of_day(std::string_view text) {
    std::vector<int> parts;
    while (true) {
        const auto colon = text.find(':');
        const auto part = text.substr(0, colon);
        const auto value = part.size() <= 2 ? number(part) : std::nullopt;
        if (!value) return std::nullopt;
        parts.push_back(*value);
        if (colon == std::string_view::npos) break;
        text.remove_prefix(colon + 1);
    }
    if (parts.size() < 2 || parts.size() > 3 || parts[0] > 23 || parts[1] > 59) return std::nullopt;
    if (parts.size() == 3 && parts[2] > 59) return std::nullopt;
    return std::chrono::hours(parts[0]) + std::chrono::minutes(parts[1]) +
           std::chrono::seconds(parts.size() == 3 ? parts[2] : 0);
}

// "2026-12-24"
std::optional<date::local_days> day_of(std::string_view text) {
    if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
    const auto year = number(text.substr(0, 4));
    const auto month = number(text.substr(5, 2));
    const auto day = number(text.substr(8, 2));
    if (!year || !month || !day) return std::nullopt;
    const date::year_month_day date{date::year(*year), date::month(static_cast<unsigned>(*month)),
                                    date::day(static_cast<unsigned>(*day))};
    if (!date.ok()) return std::nullopt;
    return date::local_days(date);
}

// Which values of a field fit.
constexpr std::size_t kValuesMax = 60;
struct Field {
    std::bitset<kValuesMax> fits;
    bool is_any{false};
};

struct FieldRule {
    std::string_view name;
    int first;
    int last;
    std::string_view names;  // Three letters each, from `first` on.
};
constexpr auto kFields =
    std::to_array<FieldRule>({{"minute", 0, 59, ""},
                              {"hour", 0, 23, ""},
                              {"day of the month", 1, 31, ""},
                              {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
                              {"day of the week", 0, 7, "sunmontuewedthufrisat"}});

std::optional<int> value_of(std::string_view text, const FieldRule& rule) {
    if (const auto value = number(text)) {
        if (*value < rule.first || *value > rule.last) return std::nullopt;
        return value;
    }
    if (text.size() != 3) return std::nullopt;
    std::string lower(text);
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    for (std::size_t at = 0; at < rule.names.size(); at += 3)
        if (rule.names.substr(at, 3) == lower) return rule.first + static_cast<int>(at / 3);
    return std::nullopt;
}

// One part of a list: "*", "5", "1-5", with "/2" or without.
bool add_part(std::string_view part, const FieldRule& rule, Field& field) {
    int step = 1;
    const auto slash = part.find('/');
    if (slash != std::string_view::npos) {
        const auto value = number(part.substr(slash + 1));
        if (!value || *value < 1) return false;
        step = *value;
        part = part.substr(0, slash);
    }
    int first = rule.first;
    int last = rule.last;
    if (part != "*") {
        const auto dash = part.find('-');
        const auto from = value_of(part.substr(0, dash), rule);
        const auto to =
            dash == std::string_view::npos ? from : value_of(part.substr(dash + 1), rule);
        if (!from || !to || *from > *to) return false;
        first = *from;
        // "5/10" begins at 5 and has no end.
        last = dash == std::string_view::npos && slash != std::string_view::npos ? rule.last : *to;
    }
    for (int value = first; value <= last; value += step)
        field.fits.set(static_cast<std::size_t>(value));
    return true;
}

Result<Field> field_of(std::string_view text, const FieldRule& rule) {
    Field field{.is_any = text.starts_with('*')};
    std::string_view rest = text;
    while (true) {
        const auto comma = rest.find(',');
        if (!add_part(rest.substr(0, comma), rule, field))
            return fail(ErrorCode::InvalidInput,
                        "'{}' is no {} of a cron expression; it is *, a number from {} to {}, a "
                        "range, a step or a list, such as 1-5 or */2",
                        base::printable(base::ellipsize(text, 40)), rule.name, rule.first,
                        rule.last);
        if (comma == std::string_view::npos) return field;
        rest.remove_prefix(comma + 1);
    }
}

struct Cron {
    Field minute, hour, day, month, weekday;

    bool fits_day(const date::year_month_day& date) const {
        const auto weekday_number = date::weekday(date::local_days(date)).c_encoding();
        const bool is_weekday =
            weekday.fits.test(weekday_number) || (weekday_number == 0 && weekday.fits.test(7));
        const bool is_day = day.fits.test(static_cast<unsigned>(date.day()));
        if (!month.fits.test(static_cast<unsigned>(date.month()))) return false;
        if (!day.is_any && !weekday.is_any) return is_day || is_weekday;
        return is_day && is_weekday;
    }
};

Result<Cron> parse_cron(std::string_view expression) {
    std::vector<std::string_view> parts;
    for (std::string_view rest = base::trim(expression); !rest.empty();) {
        const auto blank = rest.find_first_of(" \t");
        parts.push_back(rest.substr(0, blank));
        rest = blank == std::string_view::npos ? "" : base::trim(rest.substr(blank));
    }
    if (parts.size() != kFields.size())
        return fail(ErrorCode::InvalidInput,
                    "a cron expression has five fields (minute hour day month weekday), such as "
                    "\"0 9 * * mon-fri\"; '{}' has {}",
                    base::printable(base::ellipsize(expression, 60)), parts.size());
    return Cron{.minute = TRY(field_of(parts[0], kFields[0])),
                .hour = TRY(field_of(parts[1], kFields[1])),
                .day = TRY(field_of(parts[2], kFields[2])),
                .month = TRY(field_of(parts[3], kFields[3])),
                .weekday = TRY(field_of(parts[4], kFields[4]))};
}

}  // namespace

Result<std::int64_t> parse_duration_ms(std::string_view text) {
    std::int64_t total = 0;
    std::size_t next_unit = 0;
    std::string_view rest = text;
    while (!rest.empty()) {
        const auto digits = rest.find_first_not_of("0123456789");
        if (digits == 0 || digits == std::string_view::npos || digits > 10)
            return no_duration(text);
        std::int64_t amount = 0;
        std::from_chars(rest.data(), rest.data() + digits, amount);
        rest.remove_prefix(digits);
        const auto letters = std::min(rest.find_first_of("0123456789"), rest.size());
        const auto name = rest.substr(0, letters);
        while (next_unit < kUnits.size() && kUnits[next_unit].name != name) ++next_unit;
        if (next_unit == kUnits.size() || amount > kAmountMax) return no_duration(text);
        total += amount * kUnits[next_unit++].ms;
        rest.remove_prefix(letters);
    }
    if (text.empty()) return no_duration(text);
    return total;
}

std::string local_zone() {
    try {
        if (const char* set = std::getenv("TZ"); set != nullptr && *set != '\0') {
            const std::string_view name = *set == ':' ? set + 1 : set;
            return date::locate_zone(std::string(name))->name();
        }
        return date::current_zone()->name();
    } catch (const std::exception&) {
        return "UTC";
    }
}

base::Status check_zone(const std::string& zone) {
    TRY(zone_of(zone));
    return {};
}

Result<base::Time> next_local(std::string_view when, const std::string& zone_name, base::Time now) {
    const auto* zone = TRY(zone_of(zone_name));
    const std::string_view text = base::trim(when);
    const auto gap = text.find_first_of(" T");
    const auto time = time_of_day(gap == std::string_view::npos ? text : text.substr(gap + 1));
    const auto day = gap == std::string_view::npos ? std::nullopt : day_of(text.substr(0, gap));
    if (!time || (gap != std::string_view::npos && !day))
        return fail(ErrorCode::InvalidInput,
                    "'{}' is not a time; write it as 09:00 or \"2026-12-24 18:00\"",
                    base::printable(base::ellipsize(text, 40)));
    if (day) {
        const auto at = TRY(to_sys(*zone, LocalSeconds(*day) + *time));
        if (at <= now)
            return fail(ErrorCode::InvalidInput, "{} has passed already", base::printable(text));
        return at;
    }
    auto today = date::floor<date::days>(to_local(*zone, now));
    for (int days = 0; days < 2; ++days, today += date::days(1)) {
        const auto at = TRY(to_sys(*zone, LocalSeconds(today) + *time));
        if (at > now) return at;
    }
    return to_sys(*zone, LocalSeconds(today) + *time);
}

Result<base::Time> next_cron(std::string_view expression, const std::string& zone_name,
                             base::Time after) {
    const auto cron = TRY(parse_cron(expression));
    const auto* zone = TRY(zone_of(zone_name));
    auto day = date::floor<date::days>(to_local(*zone, after));
    const auto end = day + date::days(366 * kYearsMax);
    for (; day < end; day += date::days(1)) {
        if (!cron.fits_day(date::year_month_day(day))) continue;
        for (std::size_t hour = 0; hour < 24; ++hour) {
            if (!cron.hour.fits.test(hour)) continue;
            for (std::size_t minute = 0; minute < 60; ++minute) {
                if (!cron.minute.fits.test(minute)) continue;
                const auto at = TRY(to_sys(*zone, LocalSeconds(day) + std::chrono::hours(hour) +
                                                      std::chrono::minutes(minute)));
                if (at > after) return at;
            }
        }
    }
    return fail(ErrorCode::InvalidInput, "'{}' fits no day of the next {} years",
                base::printable(base::ellipsize(expression, 60)), kYearsMax);
}

}  // namespace calendar
