#include "store/sql/codec.h"

#include "base/text.h"

namespace sql::detail {

using base::ErrorCode;

namespace {
// Records wrap JSON that came in with up to base::kJsonDepthMax levels, so they may go deeper.
constexpr std::size_t kRecordDepthMax = base::kJsonDepthMax + 32;

}  // namespace

base::Result<std::string> encode(const json::value& value) {
    auto text = base::json_text(value);
    TRY(check_text(text));
    return text;
}

base::Result<std::string> encode(const base::typed::Type& type, const void* record) {
    std::string text;
    base::typed::write(type, record, text);
    TRY(check_text(text));
    return text;
}

base::Result<json::value> parse(std::string_view text, json::storage_ptr storage) {
    json::parse_options options;
    options.max_depth = kRecordDepthMax;
    boost::system::error_code error;
    auto value = json::parse(json::string_view(text.data(), text.size()), error, std::move(storage),
                             options);
    if (error)
        return base::fail(ErrorCode::Corrupt, "a stored record is not JSON: {}", error.message());
    return value;
}

}  // namespace sql::detail

namespace sql {

base::Status check_text(std::string_view text) {
    if (!base::is_utf8(text))
        return base::fail(base::ErrorCode::InvalidInput,
                          "a record has text that is not UTF-8; clean it before storing it");
    return {};
}

}  // namespace sql
