#include "store/sql/codec.h"

#include <algorithm>

#include "base/text.h"

namespace sql::detail {

using base::ErrorCode;

namespace {
// Records wrap JSON that came in with up to base::kJsonDepthMax levels, so they may go deeper.
constexpr std::size_t kRecordDepthMax = base::kJsonDepthMax + 32;

bool has_double(const json::value& value) {
    if (const auto* array = value.if_array()) return std::ranges::any_of(*array, has_double);
    if (const auto* object = value.if_object())
        return std::ranges::any_of(*object,
                                   [](const auto& member) { return has_double(member.value()); });
    return value.is_double();
}

// Encoding happens while everybody else waits to write, so the common case takes the fast way: the
// library's serialiser is four times as fast as ours, but writes numbers that nothing can read back
// (NaN), and most records are plain ASCII.
std::string text_of(const json::value& value) {
    return has_double(value) ? base::json_text(value) : json::serialize(value);
}

bool is_ascii(std::string_view text) {
    unsigned bits = 0;
    for (const char c : text) bits |= static_cast<unsigned char>(c);
    return bits < 0x80;
}
}  // namespace

base::Result<std::string> encode(const json::value& value) {
    auto text = text_of(value);
    if (!is_ascii(text) && !base::is_utf8(text))
        return base::fail(ErrorCode::InvalidInput,
                          "a record has text that is not UTF-8; clean it before storing it");
    return text;
}

base::Result<std::string> encode(const base::typed::Type& type, const void* record) {
    json::value value;
    base::typed::encode(type, record, value);
    return encode(value);
}

base::Result<json::value> parse(std::string_view text) {
    json::parse_options options;
    options.max_depth = kRecordDepthMax;
    boost::system::error_code error;
    auto value = json::parse(json::string_view(text.data(), text.size()), error, {}, options);
    if (error)
        return base::fail(ErrorCode::Corrupt, "a stored record is not JSON: {}", error.message());
    return value;
}

}  // namespace sql::detail
