// Records as the JSON text that the `record` columns hold.
#pragma once

#include <string>
#include <string_view>

#include "base/typed.h"

namespace sql {

namespace detail {
base::Result<std::string> encode(const base::typed::Type& type, const void* record);
base::Result<std::string> encode(const json::value& value);
base::Result<json::value> parse(std::string_view text);
}  // namespace detail

// InvalidInput when the record holds text that is not UTF-8: it could not be read back.
template <class T>
base::Result<std::string> encode(const T& record) {
    return detail::encode(base::typed::type_of<T>(), &record);
}
template <>
inline base::Result<std::string> encode(const json::value& value) {
    return detail::encode(value);
}

// Corrupt when `text` is not what encode() wrote.
template <class T>
base::Result<T> decode(std::string_view text) {
    auto value = TRY(detail::parse(text));
    if constexpr (std::is_same_v<T, json::value>) {
        return value;
    } else {
        auto record = base::from_json<T>(value);
        if (!record)
            return base::fail(base::ErrorCode::Corrupt, "a stored record cannot be read: {}",
                              record.error().message);
        return record;
    }
}

}  // namespace sql
