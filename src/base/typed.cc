#include "base/typed.h"

#include <cctype>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/compile.h>

#include "base/text.h"

namespace base::typed {
namespace {

constexpr std::size_t kEchoCharsMax = 40;  // How much of a wrong value an error repeats.

std::string shown(const json::value& value) {
    return printable(ellipsize(to_utf8(json_text(value)), kEchoCharsMax));
}

// Where a value is. Its pointer is made only for a fault: most input has none, and to make it for
// each member took a third of the time of decoding.
struct Place {
    const Place* above{nullptr};
    std::string_view name{};             // Of the member,
    std::optional<std::size_t> index{};  // or the place in a list.
    std::string_view root{};             // The pointer of the place that has none above it.

    std::string pointer() const {
        if (!above) return std::string(root);
        return above->pointer_of(index ? std::to_string(*index) : std::string(name));
    }
    std::string pointer_of(std::string_view member) const {
        return child_pointer(pointer(), member);
    }
};

void mismatch(std::vector<Fault>& faults, const Place& place, std::string_view expected,
              const json::value& got) {
    faults.push_back({place.pointer(), fmt::format("expected {}, got {}", expected, shown(got))});
}

json::string_view view(std::string_view text) {
    return {text.data(), text.size()};
}

void decode_at(const Type& type, void* to, const json::value& from, Unknown unknown,
               const Place& place, std::vector<Fault>& faults);

void decode_int(const Type& type, void* to, const json::value& from, const Place& place,
                std::vector<Fault>& faults) {
    if (from.is_int64()) {
        const std::int64_t number = from.get_int64();
        const bool fits =
            number >= type.min && (number < 0 || static_cast<std::uint64_t>(number) <= type.max);
        if (fits) return type.set_int(to, number);
    } else if (from.is_uint64() && from.get_uint64() <= type.max) {
        return type.set_int(to, static_cast<std::int64_t>(from.get_uint64()));
    } else if (!from.is_number()) {
        return mismatch(faults, place, "integer", from);
    }
    mismatch(faults, place, "integer in range", from);
}

void decode_enum(const Type& type, void* to, const json::value& from, const Place& place,
                 std::vector<Fault>& faults) {
    if (from.is_string()) {
        const std::string_view text = from.get_string();
        for (std::size_t i = 0; i < type.names.size(); ++i)
            if (type.names[i] == text) return type.set_int(to, static_cast<std::int64_t>(i));
    }
    std::string allowed;
    for (const auto& name : type.names) allowed += (allowed.empty() ? "" : ", ") + name;
    mismatch(faults, place, "one of " + allowed, from);
}

bool may_be_absent(const Field& field) {
    return field.type->kind == Kind::Optional || (field.doc && field.doc->has_default);
}

void decode_struct(const Type& type, void* to, const json::value& from, Unknown unknown,
                   const Place& place, std::vector<Fault>& faults, std::string_view tag_key = {}) {
    const auto* object = from.if_object();
    if (!object) return mismatch(faults, place, "object", from);
    for (const auto& field : type.fields) {
        const auto* value = object->if_contains(view(field.name));
        if (value) {
            decode_at(*field.type, field.member(to), *value, unknown,
                      Place{.above = &place, .name = field.name}, faults);
        } else if (!may_be_absent(field) && unknown == Unknown::Reject) {
            faults.push_back({place.pointer_of(field.name), "is required"});
        } else if (!may_be_absent(field) && field.type->kind != Kind::List &&
                   field.type->kind != Kind::Map) {
            faults.push_back({place.pointer_of(field.name), "is missing"});
        }
    }
    if (unknown == Unknown::Ignore) return;
    for (const auto& member : *object) {
        const std::string_view key = member.key();
        if (key == tag_key ||
            std::ranges::find(type.fields, key, &Field::name) != type.fields.end())
            continue;
        std::vector<std::string> names;
        for (const auto& field : type.fields) names.emplace_back(field.name);
        const std::string near = nearest(key, names);
        faults.push_back({place.pointer_of(key),
                          near.empty() ? "is not a known field"
                                       : "is not a known field; did you mean '" + near + "'?"});
    }
}

void decode_variant(const Type& type, void* to, const json::value& from, Unknown unknown,
                    const Place& place, std::vector<Fault>& faults) {
    const std::string tag = string_at(from, type.tag_key);
    for (const auto& alternative : type.alternatives) {
        if (alternative.tag != tag) continue;
        return decode_struct(*alternative.type, alternative.emplace(to), from, unknown, place,
                             faults, type.tag_key);
    }
    std::string allowed;
    for (const auto& alternative : type.alternatives)
        allowed += (allowed.empty() ? "" : ", ") + std::string(alternative.tag);
    faults.push_back({place.pointer_of(type.tag_key), "expected one of " + allowed});
}

void decode_at(const Type& type, void* to, const json::value& from, Unknown unknown,
               const Place& place, std::vector<Fault>& faults) {
    switch (type.kind) {
        case Kind::Bool:
            if (!from.is_bool()) return mismatch(faults, place, "boolean", from);
            return type.set_int(to, from.get_bool() ? 1 : 0);
        case Kind::Int:
            return decode_int(type, to, from, place, faults);
        case Kind::Double:
            if (!from.is_number()) return mismatch(faults, place, "number", from);
            *static_cast<double*>(to) = from.to_number<double>();
            return;
        case Kind::Text:
            if (!from.is_string()) return mismatch(faults, place, "string", from);
            if (!type.set_text(to, std::string_view(from.get_string())))
                mismatch(faults, place, "RFC 3339 time", from);
            return;
        case Kind::Json:
            *static_cast<json::value*>(to) = from;
            return;
        case Kind::Object:
            if (!from.is_object()) return mismatch(faults, place, "object", from);
            *static_cast<json::object*>(to) = from.get_object();
            return;
        case Kind::Enum:
            return decode_enum(type, to, from, place, faults);
        case Kind::Struct:
            return decode_struct(type, to, from, unknown, place, faults);
        case Kind::Variant:
            return decode_variant(type, to, from, unknown, place, faults);
        case Kind::Optional:
            type.clear(to);
            if (!from.is_null()) {
                const std::size_t before = faults.size();
                decode_at(*type.item, type.emplace(to), from, unknown, place, faults);
                // What could not be read is absent, rather than half there.
                if (faults.size() > before) type.clear(to);
            }
            return;
        case Kind::List: {
            const auto* array = from.if_array();
            if (!array) return mismatch(faults, place, "array", from);
            type.clear(to);
            for (std::size_t i = 0; i < array->size(); ++i)
                decode_at(*type.item, type.emplace(to), (*array)[i], unknown,
                          Place{.above = &place, .index = i}, faults);
            return;
        }
        case Kind::Map: {
            const auto* object = from.if_object();
            if (!object) return mismatch(faults, place, "object", from);
            type.clear(to);
            for (const auto& member : *object)
                decode_at(*type.item, type.insert(to, std::string_view(member.key())),
                          member.value(), unknown,
                          Place{.above = &place, .name = std::string_view(member.key())}, faults);
            return;
        }
    }
}

// An absent optional is left out, unless its field says otherwise.
bool is_left_out(const Field& field, const void* member) {
    return field.type->kind == Kind::Optional && !field.type->get_optional(member) &&
           !(field.doc && field.doc->null_when_absent);
}

void write_int(const Type& type, const void* from, std::string& to) {
    const std::int64_t number = type.get_int(from);
    if (type.max > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        fmt::format_to(std::back_inserter(to), FMT_COMPILE("{}"),
                       static_cast<std::uint64_t>(number));
    else
        fmt::format_to(std::back_inserter(to), FMT_COMPILE("{}"), number);
}

void write_name(std::string_view name, std::string& to) {
    to += '"';
    to += name;  // A name in C++ needs no escape.
    to += "\":";
}

// `before` is written before the first one that is written, if it is not NUL.
void write_fields(const Type& type, const void* from, char before, std::string& to) {
    for (const auto& field : type.fields) {
        const void* member = field.member(const_cast<void*>(from));
        if (is_left_out(field, member)) continue;
        if (before != '\0') to += before;
        before = ',';
        write_name(field.name, to);
        write(*field.type, member, to);
    }
}

void write_map(const Type& type, const void* from, std::string& to) {
    struct Target {
        std::string& to;
        const Type& item;
        char before;
    } target{to, *type.item, '{'};
    type.each(
        from,
        [](void* context, std::string_view key, const void* value) {
            auto& t = *static_cast<Target*>(context);
            t.to += std::exchange(t.before, ',');
            append_json_string(t.to, key);
            t.to += ':';
            write(t.item, value, t.to);
        },
        &target);
    to += target.before == '{' ? "{}" : "}";
}

void write_variant(const Type& type, const void* from, std::string& to) {
    for (const auto& alternative : type.alternatives) {
        const void* held = alternative.get(from);
        if (!held) continue;
        to += '{';
        write_name(type.tag_key, to);
        append_json_string(to, alternative.tag);
        write_fields(*alternative.type, held, ',', to);
        to += '}';
        return;
    }
    to += "null";
}

json::object described(json::object schema, const FieldDoc* doc) {
    if (!doc) return schema;
    if (!doc->text.empty()) schema["description"] = view(doc->text);
    if (!doc->keywords.empty()) {
        const json::value extra = json::parse("{" + std::string(doc->keywords) + "}");
        for (const auto& member : extra.get_object()) schema[member.key()] = member.value();
    }
    return schema;
}

json::object struct_schema(const Type& type) {
    json::object properties;
    json::array required;
    for (const auto& field : type.fields) {
        json::object own = schema(*field.type);
        if (field.doc && field.doc->null_when_absent)
            own = {{"anyOf", {std::move(own), json::object{{"type", "null"}}}}};
        properties[view(field.name)] = described(std::move(own), field.doc);
        if (!may_be_absent(field)) required.push_back(json::value(view(field.name)));
    }
    json::object out{{"type", "object"}, {"properties", std::move(properties)}};
    if (!required.empty()) out["required"] = std::move(required);
    out["additionalProperties"] = false;
    return out;
}

json::object variant_schema(const Type& type) {
    json::array options;
    for (const auto& alternative : type.alternatives) {
        json::object option = struct_schema(*alternative.type);
        option["properties"].as_object()[view(type.tag_key)] =
            json::object{{"const", view(alternative.tag)}};
        if (!option.contains("required")) option["required"] = json::array{};
        option["required"].as_array().push_back(json::value(view(type.tag_key)));
        options.push_back(std::move(option));
    }
    return {{"anyOf", std::move(options)}};
}

}  // namespace

std::string child_pointer(const std::string& pointer, std::string_view name) {
    std::string out = pointer + "/";
    for (const char c : printable(ellipsize(to_utf8(name), kEchoCharsMax))) {
        if (c == '~') {
            out += "~0";
        } else if (c == '/') {
            out += "~1";
        } else {
            out += c;
        }
    }
    return out;
}

std::string snake_case(std::string_view pascal) {
    std::string out;
    for (char c : pascal) {
        const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
        if (upper && !out.empty()) out += '_';
        out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return out;
}

void encode(const Type& type, const void* from, json::value& to) {
    switch (type.kind) {
        case Kind::Bool:
            to = type.get_int(from) != 0;
            return;
        case Kind::Int:
            if (type.max > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
                to = static_cast<std::uint64_t>(type.get_int(from));
            else
                to = type.get_int(from);
            return;
        case Kind::Double:
            to = *static_cast<const double*>(from);
            return;
        case Kind::Text:
            to = view(type.get_text(from));
            return;
        case Kind::Json:
            to = *static_cast<const json::value*>(from);
            return;
        case Kind::Object:
            to = *static_cast<const json::object*>(from);
            return;
        case Kind::Enum:
            to = view(type.names[static_cast<std::size_t>(type.get_int(from))]);
            return;
        case Kind::Optional: {
            const void* held = type.get_optional(from);
            if (held)
                encode(*type.item, held, to);
            else
                to = nullptr;
            return;
        }
        case Kind::Struct: {
            auto& object = to.emplace_object();
            object.reserve(type.fields.size());
            for (const auto& field : type.fields) {
                const void* member = field.member(const_cast<void*>(from));
                if (is_left_out(field, member)) continue;
                encode(*field.type, member, object[view(field.name)]);
            }
            return;
        }
        case Kind::List: {
            auto& array = to.emplace_array();
            const std::size_t size = type.size(from);
            array.reserve(size);
            for (std::size_t i = 0; i < size; ++i)
                encode(*type.item, type.at(from, i), array.emplace_back(nullptr));
            return;
        }
        case Kind::Map: {
            struct Target {
                json::object& object;
                const Type& item;
            } target{to.emplace_object(), *type.item};
            type.each(
                from,
                [](void* context, std::string_view key, const void* value) {
                    auto& t = *static_cast<Target*>(context);
                    encode(t.item, value, t.object[view(key)]);
                },
                &target);
            return;
        }
        case Kind::Variant: {
            for (const auto& alternative : type.alternatives) {
                const void* held = alternative.get(from);
                if (!held) continue;
                json::value body;
                encode(*alternative.type, held, body);
                auto& object = to.emplace_object();
                object[view(type.tag_key)] = view(alternative.tag);
                for (auto& member : body.get_object()) object[member.key()] = member.value();
                return;
            }
            return;
        }
    }
}

void write(const Type& type, const void* from, std::string& to) {
    switch (type.kind) {
        case Kind::Bool:
            to += type.get_int(from) != 0 ? "true" : "false";
            return;
        case Kind::Int:
            return write_int(type, from, to);
        case Kind::Double:
            return append_json_double(to, *static_cast<const double*>(from));
        case Kind::Text:
            if (type.text_at) return append_json_string(to, *type.text_at(from));
            return append_json_string(to, type.get_text(from));
        case Kind::Json:
            return append_json(to, *static_cast<const json::value*>(from));
        case Kind::Object:
            return append_json(to, *static_cast<const json::object*>(from));
        case Kind::Enum:
            return append_json_string(to, type.names[static_cast<std::size_t>(type.get_int(from))]);
        case Kind::Optional:
            if (const void* held = type.get_optional(from)) return write(*type.item, held, to);
            to += "null";
            return;
        case Kind::Struct:
            to += '{';
            write_fields(type, from, '\0', to);
            to += '}';
            return;
        case Kind::List: {
            to += '[';
            for (std::size_t i = 0; i < type.size(from); ++i) {
                if (i > 0) to += ',';
                write(*type.item, type.at(from, i), to);
            }
            to += ']';
            return;
        }
        case Kind::Map:
            return write_map(type, from, to);
        case Kind::Variant:
            return write_variant(type, from, to);
    }
}

void decode(const Type& type, void* to, const json::value& from, Unknown unknown,
            const std::string& pointer, std::vector<Fault>& faults) {
    decode_at(type, to, from, unknown, Place{.root = pointer}, faults);
}

json::object schema(const Type& type) {
    switch (type.kind) {
        case Kind::Bool:
            return {{"type", "boolean"}};
        case Kind::Int: {
            json::object out{{"type", "integer"}};
            if (type.min == 0) out["minimum"] = 0;
            return out;
        }
        case Kind::Double:
            return {{"type", "number"}};
        case Kind::Text:
            if (type.name == "time") return {{"type", "string"}, {"format", "date-time"}};
            return {{"type", "string"}};
        case Kind::Json:
            return {};
        case Kind::Object:
            return {{"type", "object"}};
        case Kind::Enum: {
            json::array names;
            for (const auto& name : type.names) names.push_back(json::value(view(name)));
            return {{"type", "string"}, {"enum", std::move(names)}};
        }
        case Kind::Optional:
            return schema(*type.item);
        case Kind::Struct:
            return struct_schema(type);
        case Kind::Variant:
            return variant_schema(type);
        case Kind::List:
            return {{"type", "array"}, {"items", schema(*type.item)}};
        case Kind::Map:
            return {{"type", "object"}, {"additionalProperties", schema(*type.item)}};
    }
    return {};
}

}  // namespace base::typed
