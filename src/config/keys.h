// The settings that `holon config get|set|unset` reaches, by name.
//
// They work on config.json as it is written, so other keys are kept unchanged.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/typed.h"

namespace config {

enum class KeyKind {
    ModelRef,
    ModelRefList,
    JsonObject,
    PositiveInteger,
    PercentageInteger,
    Boolean,
    Enum,
    String,
    StringList
};
BOOST_DESCRIBE_ENUM(KeyKind, ModelRef, ModelRefList, JsonObject, PositiveInteger, PercentageInteger,
                    Boolean, Enum, String, StringList)

struct Key {
    std::string_view key;  // Dotted: the path in the file. <name> is any one part of it.
    KeyKind kind;
    std::string_view description;
    std::string_view default_value{"null"};  // JSON.
    std::string_view allowed_values{};       // Comma separated; of an Enum.
};

std::span<const Key> keys();
// The setting of this name; its key is `name` itself, which must outlive it. NotFound, naming the
// nearest, for any other name.
base::Result<Key> find_key(std::string_view name);

// What a person typed, as it is stored. Null clears an object, a blank a text that has no default.
base::Result<json::value> parse_value(const Key& key, std::string_view text);

// The stored value; null, or an empty list, when there is none.
json::value get_value(const json::object& document, const Key& key);
void set_value(json::object& document, const Key& key, json::value value);
// Groups that become empty are removed as well.
void unset_value(json::object& document, const Key& key);

}  // namespace config
