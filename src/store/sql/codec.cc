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
    if (!base::is_utf8(text))
        return base::fail(ErrorCode::InvalidInput,
                          "a record has text that is not UTF-8; clean it before storing it");
    return text;
}

base::Result<std::string> encode(const base::typed::Type& type, const void* record) {
    Room room;
    json::value value(room.storage());
    base::typed::encode(type, record, value);
    return encode(value);
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
