// Records as the JSON text that the `record` columns hold.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/typed.h"

namespace sql {

namespace detail {
// Room for the JSON between a record and its text. It is given back whole: a record is dozens of
// values, and to allocate each was a quarter of the time of a message.
class Room {
public:
    Room() : memory_(first_.data(), first_.size()) {}
    // Values made with it must not outlive it; a copy that is assigned to another value may.
    json::storage_ptr storage() { return &memory_; }

private:
    std::array<unsigned char, 4096> first_;  // NOLINT(*-member-init): the resource fills it.
    json::monotonic_resource memory_;
};

base::Result<std::string> encode(const base::typed::Type& type, const void* record);
base::Result<std::string> encode(const json::value& value);
base::Result<json::value> parse(std::string_view text, json::storage_ptr storage = {});
}  // namespace detail

// InvalidInput when the text of a record is not UTF-8.
base::Status check_text(std::string_view text);

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
    if constexpr (std::is_same_v<T, json::value>) {
        return detail::parse(text);
    } else {
        detail::Room room;
        auto record = base::from_json<T>(TRY(detail::parse(text, room.storage())));
        if (!record)
            return base::fail(base::ErrorCode::Corrupt, "a stored record cannot be read: {}",
                              record.error().message);
        return record;
    }
}

}  // namespace sql
