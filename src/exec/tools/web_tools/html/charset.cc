#include <algorithm>
#include <array>

#include <iconv.h>

#include "base/text.h"
#include "exec/tools/web_tools/html/readable.h"

namespace web_tools {
namespace {

constexpr std::size_t kSniffBytes = 1024;
constexpr std::size_t kCharsetBytesMax = 24;

// The encodings of the web, and no others: a name of a page is not handed to the system unseen.
constexpr auto kCharsets = std::to_array<std::string_view>(
    {"iso-8859-1",   "iso-8859-2",   "iso-8859-3",   "iso-8859-4",   "iso-8859-5",   "iso-8859-6",
     "iso-8859-7",   "iso-8859-8",   "iso-8859-10",  "iso-8859-13",  "iso-8859-14",  "iso-8859-15",
     "iso-8859-16",  "windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254",
     "windows-1255", "windows-1256", "windows-1257", "windows-1258", "koi8-r",       "koi8-u",
     "gb2312",       "gbk",          "gb18030",      "big5",         "euc-jp",       "shift_jis",
     "iso-2022-jp",  "euc-kr",       "utf-16le",     "utf-16be"});

std::string lowered(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    return out;
}

// What follows "charset=" in a content type or a <meta>.
std::string charset_in(std::string_view text) {
    const std::string low = lowered(text);
    auto at = low.find("charset=");
    if (at == low.npos) return "";
    at = low.find_first_not_of("\"' ", at + 8);
    if (at == low.npos) return "";
    const auto end = low.find_first_of("\"'; />\r\n", at);
    const std::string name = low.substr(at, end == low.npos ? end : end - at);
    return name.size() <= kCharsetBytesMax ? name : "";
}

std::string converted(std::string_view bytes, const std::string& charset) {
    const iconv_t converter = ::iconv_open("UTF-8", charset.c_str());
    // iconv_open() reports a failure as (iconv_t)-1.
    if (converter == reinterpret_cast<iconv_t>(static_cast<std::intptr_t>(-1)))
        return base::to_utf8(bytes);
    std::string input(bytes), out;
    char* from = input.data();
    std::size_t left = input.size();
    std::array<char, 16 * 1024> buffer;
    while (left > 0) {
        char* to = buffer.data();
        std::size_t room = buffer.size();
        const auto result = ::iconv(converter, &from, &left, &to, &room);
        out.append(buffer.data(), buffer.size() - room);
        if (result != static_cast<std::size_t>(-1) || errno == E2BIG) continue;
        out += "\uFFFD";
        ++from;
        --left;
    }
    ::iconv_close(converter);
    return base::to_utf8(out);
}

std::string media_type(std::string_view content_type) {
    return lowered(base::trim(content_type.substr(0, content_type.find(';'))));
}

}  // namespace

std::string text_of(std::string_view bytes, std::string_view content_type) {
    if (bytes.starts_with("\xEF\xBB\xBF")) return base::to_utf8(bytes.substr(3));
    if (bytes.starts_with("\xFF\xFE")) return converted(bytes.substr(2), "utf-16le");
    if (bytes.starts_with("\xFE\xFF")) return converted(bytes.substr(2), "utf-16be");
    std::string charset = charset_in(content_type);
    if (charset.empty() && is_html(content_type, bytes))
        charset = charset_in(bytes.substr(0, kSniffBytes));
    if (std::ranges::find(kCharsets, std::string_view(charset)) == kCharsets.end())
        return base::to_utf8(bytes);
    // Pages say Latin-1 and mean its superset, as browsers read them.
    return converted(bytes, charset == "iso-8859-1" ? "windows-1252" : charset);
}

bool is_html(std::string_view content_type, std::string_view body) {
    if (!content_type.empty()) return media_type(content_type).contains("html");
    const std::string start = lowered(base::trim(body.substr(0, kSniffBytes)));
    return start.starts_with("<!doctype html") || start.starts_with("<html");
}

bool is_text(std::string_view content_type, std::string_view body) {
    const std::string type = media_type(content_type);
    if (type.empty() || type == "application/octet-stream")
        return !body.substr(0, kSniffBytes).contains('\0');
    static constexpr auto kTexts = std::to_array<std::string_view>(
        {"application/json", "application/xml", "application/javascript", "application/ecmascript",
         "application/x-ndjson", "application/yaml", "application/x-yaml", "application/toml",
         "application/rtf", "application/sql", "application/x-sh",
         "application/x-www-form-urlencoded", "image/svg+xml"});
    return type.starts_with("text/") || type.ends_with("+json") || type.ends_with("+xml") ||
           std::ranges::find(kTexts, std::string_view(type)) != kTexts.end();
}

}  // namespace web_tools
