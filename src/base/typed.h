// Typed JSON: a described struct gives its encoder, its decoder and its JSON Schema.
//
//     struct Sleep { std::optional<std::string> reason; std::optional<std::int64_t> duration_ms; };
//     BOOST_DESCRIBE_STRUCT(Sleep, (), (reason, duration_ms))
//     constexpr auto describe_fields(const Sleep*) {
//         return std::to_array<base::FieldDoc>({{"duration_ms", "Omit to sleep.",
//         R"("minimum":1)"}});
//     }
//
// Each type becomes a constant table that plain code walks, which compiles an order of magnitude
// faster than a template visitor. Fields may be bool, integers, double, std::string, ids, Time,
// json::value, json::object, described enums (PascalCase becomes snake_case) and structs, and
// std::optional, std::vector and std::map<std::string, …> of these, and std::variant of structs
// that each have `static constexpr std::string_view kTagKey, kTag`.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <boost/describe.hpp>

#include "base/ids.h"
#include "base/json.h"
#include "base/time.h"

namespace base {

// What a schema says of a field beyond its type.
struct FieldDoc {
    std::string_view field;
    std::string_view text{};
    std::string_view keywords{};  // JSON members to add: "minimum":1
    // A field with a default may be left out of input; `keywords` should then name the default.
    bool has_default{false};
    // An absent optional is written as null, not left out.
    bool null_when_absent{false};
};

enum class Unknown { Ignore, Reject };

namespace typed {

enum class Kind {
    Bool,
    Int,
    Double,
    Text,
    Json,
    Object,
    Enum,
    Struct,
    Optional,
    List,
    Map,
    Variant
};

struct Type;

struct Field {
    std::string_view name;
    const Type* type;
    void* (*member)(void*);
    const FieldDoc* doc;  // Null when the field has none.
};

struct Alternative {
    std::string_view tag;
    const Type* type;
    void* (*emplace)(void*);
    const void* (*get)(const void*);  // Null unless the variant holds this alternative.
};

// One table per C++ type; which members are set depends on `kind`.
struct Type {
    Kind kind;
    std::string_view name{};
    std::int64_t min{0};
    std::uint64_t max{0};
    std::span<const Field> fields{};
    std::span<const std::string> names{};  // Enum wire names in declaration order.
    std::string_view tag_key{};
    std::span<const Alternative> alternatives{};
    const Type* item{nullptr};
    std::int64_t (*get_int)(const void*){nullptr};
    void (*set_int)(void*, std::int64_t){nullptr};
    std::string (*get_text)(const void*){nullptr};
    // Where the text itself is; null for a time, which is not kept as text.
    const std::string* (*text_at)(const void*){nullptr};
    bool (*set_text)(void*, std::string_view){nullptr};
    const void* (*get_optional)(const void*){nullptr};
    void* (*emplace)(void*){nullptr};  // Optional: engage. List: append.
    void (*clear)(void*){nullptr};
    std::size_t (*size)(const void*){nullptr};
    const void* (*at)(const void*, std::size_t){nullptr};
    void (*each)(const void*, void (*)(void*, std::string_view, const void*), void*){nullptr};
    void* (*insert)(void*, std::string_view){nullptr};
};

struct Fault {
    std::string pointer;  // JSON pointer of the place, "" for the whole.
    std::string message;
};

void encode(const Type& type, const void* from, json::value& to);
// Appends what json_text() makes of the encoded value, without making it.
void write(const Type& type, const void* from, std::string& to);
void decode(const Type& type, void* to, const json::value& from, Unknown unknown,
            const std::string& pointer, std::vector<Fault>& faults);
json::object schema(const Type& type);

// The JSON pointer of member `name` below `pointer`. A long name is cut and control characters are
// made visible, as it may be untrusted.
std::string child_pointer(const std::string& pointer, std::string_view name);

// "OperatorPrompt" -> "operator_prompt"
std::string snake_case(std::string_view pascal);

template <class T>
const Type& type_of();

template <class T, class = void>
struct Docs {
    static std::span<const FieldDoc> get() { return {}; }
};
template <class T>
struct Docs<T, std::void_t<decltype(describe_fields(static_cast<const T*>(nullptr)))>> {
    static std::span<const FieldDoc> get() {
        static constexpr auto docs = describe_fields(static_cast<const T*>(nullptr));
        return docs;
    }
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};
template <class T>
struct IsVariant : std::false_type {};
template <class... T>
struct IsVariant<std::variant<T...>> : std::true_type {};
template <class T>
struct IsId : std::false_type {};
template <class T>
struct IsId<Id<T>> : std::true_type {};

template <class T>
Type text_type() {
    Type type{.kind = Kind::Text};
    if constexpr (std::is_same_v<T, std::string>) {
        type.get_text = [](const void* p) { return *static_cast<const std::string*>(p); };
        type.text_at = [](const void* p) { return static_cast<const std::string*>(p); };
        type.set_text = [](void* p, std::string_view text) {
            *static_cast<std::string*>(p) = text;
            return true;
        };
    } else if constexpr (std::is_same_v<T, Time>) {
        type.name = "time";
        type.get_text = [](const void* p) { return to_text(*static_cast<const Time*>(p)); };
        type.set_text = [](void* p, std::string_view text) {
            const auto time = parse_time(text);
            if (time) *static_cast<Time*>(p) = *time;
            return time.has_value();
        };
    } else {
        type.get_text = [](const void* p) { return static_cast<const T*>(p)->value; };
        type.text_at = [](const void* p) { return &static_cast<const T*>(p)->value; };
        type.set_text = [](void* p, std::string_view text) {
            static_cast<T*>(p)->value = text;
            return true;
        };
    }
    return type;
}

template <class T>
Type int_type() {
    return {.kind = Kind::Int,
            .min = static_cast<std::int64_t>(std::numeric_limits<T>::min()),
            .max = static_cast<std::uint64_t>(std::numeric_limits<T>::max()),
            .get_int =
                [](const void* p) { return static_cast<std::int64_t>(*static_cast<const T*>(p)); },
            .set_int = [](void* p, std::int64_t n) { *static_cast<T*>(p) = static_cast<T>(n); }};
}

template <class T>
Type enum_type() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> list;
        boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>(
            [&](auto entry) { list.push_back(snake_case(entry.name)); });
        return list;
    }();
    // Enumerators are numbered from zero without gaps, so the index is the value.
    return {.kind = Kind::Enum,
            .names = names,
            .get_int =
                [](const void* p) { return static_cast<std::int64_t>(*static_cast<const T*>(p)); },
            .set_int = [](void* p, std::int64_t n) { *static_cast<T*>(p) = static_cast<T>(n); }};
}

template <class T>
Type struct_type() {
    using Members = boost::describe::describe_members<T, boost::describe::mod_public |
                                                             boost::describe::mod_inherited>;
    static const std::vector<Field> fields = [] {
        std::vector<Field> list;
        boost::mp11::mp_for_each<Members>([&](auto entry) {
            using Entry = decltype(entry);
            using Member = std::remove_reference_t<decltype(std::declval<T&>().*Entry::pointer)>;
            const FieldDoc* doc = nullptr;
            for (const auto& candidate : Docs<T>::get())
                if (candidate.field == entry.name) doc = &candidate;
            // A field named like a keyword has a trailing underscore in C++ only.
            std::string_view name = entry.name;
            if (name.ends_with('_')) name.remove_suffix(1);
            list.push_back({name, &type_of<Member>(),
                            [](void* p) -> void* { return &(static_cast<T*>(p)->*Entry::pointer); },
                            doc});
        });
        return list;
    }();
    return {.kind = Kind::Struct, .fields = fields};
}

template <class V, std::size_t... I>
std::vector<Alternative> alternatives(std::index_sequence<I...>) {
    return {Alternative{
        std::variant_alternative_t<I, V>::kTag, &type_of<std::variant_alternative_t<I, V>>(),
        [](void* p) -> void* { return &static_cast<V*>(p)->template emplace<I>(); },
        [](const void* p) -> const void* { return std::get_if<I>(static_cast<const V*>(p)); }}...};
}

template <class T>
Type make_type() {
    if constexpr (std::is_same_v<T, bool>) {
        return {.kind = Kind::Bool,
                .get_int = [](const void* p) { return std::int64_t{*static_cast<const bool*>(p)}; },
                .set_int = [](void* p, std::int64_t n) { *static_cast<bool*>(p) = n != 0; }};
    } else if constexpr (std::is_integral_v<T>) {
        return int_type<T>();
    } else if constexpr (std::is_same_v<T, double>) {
        return {.kind = Kind::Double};
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Time> ||
                         IsId<T>::value) {
        return text_type<T>();
    } else if constexpr (std::is_same_v<T, json::value>) {
        return {.kind = Kind::Json};
    } else if constexpr (std::is_same_v<T, json::object>) {
        return {.kind = Kind::Object};
    } else if constexpr (std::is_enum_v<T>) {
        return enum_type<T>();
    } else if constexpr (IsOptional<T>::value) {
        return {.kind = Kind::Optional,
                .item = &type_of<typename T::value_type>(),
                .get_optional = [](const void* p) -> const void* {
                    const auto& o = *static_cast<const T*>(p);
                    return o ? &*o : nullptr;
                },
                .emplace = [](void* p) -> void* { return &static_cast<T*>(p)->emplace(); },
                .clear = [](void* p) { static_cast<T*>(p)->reset(); }};
    } else if constexpr (IsVector<T>::value) {
        return {.kind = Kind::List,
                .item = &type_of<typename T::value_type>(),
                .emplace = [](void* p) -> void* { return &static_cast<T*>(p)->emplace_back(); },
                .clear = [](void* p) { static_cast<T*>(p)->clear(); },
                .size = [](const void* p) { return static_cast<const T*>(p)->size(); },
                .at = [](const void* p, std::size_t i) -> const void* {
                    return &(*static_cast<const T*>(p))[i];
                }};
    } else if constexpr (IsMap<T>::value) {
        return {.kind = Kind::Map,
                .item = &type_of<typename T::mapped_type>(),
                .clear = [](void* p) { static_cast<T*>(p)->clear(); },
                .each =
                    [](const void* p, void (*visit)(void*, std::string_view, const void*),
                       void* context) {
                        for (const auto& [key, value] : *static_cast<const T*>(p))
                            visit(context, key, &value);
                    },
                .insert = [](void* p, std::string_view key) -> void* {
                    return &(*static_cast<T*>(p))[std::string(key)];
                }};
    } else if constexpr (IsVariant<T>::value) {
        static const auto list =
            alternatives<T>(std::make_index_sequence<std::variant_size_v<T>>());
        return {.kind = Kind::Variant,
                .tag_key = std::variant_alternative_t<0, T>::kTagKey,
                .alternatives = list};
    } else {
        return struct_type<T>();
    }
}

template <class T>
const Type& type_of() {
    static const Type type = make_type<T>();
    return type;
}

}  // namespace typed

template <class T>
json::value to_json(const T& value) {
    json::value out;
    typed::encode(typed::type_of<T>(), &value, out);
    return out;
}

// Every fault of the input in one error, each with its JSON pointer. Records we wrote ourselves and
// answers from elsewhere ignore unknown members; what people and models type rejects them.
template <class T>
Result<T> from_json(const json::value& value, Unknown unknown = Unknown::Ignore) {
    T out{};
    std::vector<typed::Fault> faults;
    typed::decode(typed::type_of<T>(), &out, value, unknown, "", faults);
    if (faults.empty()) return out;
    std::string text;
    for (const auto& fault : faults) {
        if (!text.empty()) text += "; ";
        text += fault.pointer.empty() ? fault.message : fault.pointer + ": " + fault.message;
    }
    return fail(ErrorCode::InvalidInput, "{}", text);
}

// The JSON Schema of T with the true shape of its parameters: optional fields are not required.
template <class T>
json::object schema_of() {
    return typed::schema(typed::type_of<T>());
}

// The wire name of an enumerator, and back.
template <class E>
std::string_view enum_name(E value) {
    return typed::type_of<E>().names[static_cast<std::size_t>(value)];
}
template <class E>
std::optional<E> enum_from(std::string_view name) {
    const auto names = typed::type_of<E>().names;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == name) return static_cast<E>(i);
    return std::nullopt;
}

}  // namespace base
