// Kinds of bytes, whatever the locale.
#pragma once

namespace scan {

constexpr bool is_ascii_lower(char c) {
    return c >= 'a' && c <= 'z';
}
constexpr bool is_ascii_upper(char c) {
    return c >= 'A' && c <= 'Z';
}
constexpr bool is_ascii_letter(char c) {
    return is_ascii_lower(c) || is_ascii_upper(c);
}
constexpr bool is_ascii_digit(char c) {
    return c >= '0' && c <= '9';
}
constexpr bool is_tab_or_blank(char c) {
    return c == ' ' || c == '\t';
}
constexpr bool is_white(char c) {
    return is_tab_or_blank(c) || c == '\n' || c == '\r';
}

}  // namespace scan
