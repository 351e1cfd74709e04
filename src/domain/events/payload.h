// What every event payload has: a kind, and one way to and from the JSON that is stored.
//
// A payload is a described struct with `static constexpr std::string_view kKind`, named after its
// kind. Its members are those of the stored object, in that order. A member that is absent is left
// out of the object, unless describe_fields() says that it is written as null.
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/typed.h"
#include "domain/message.h"
#include "domain/record.h"

namespace domain::events {

template <class P>
concept Payload = std::default_initializable<P> && requires {
    { P::kKind } -> std::convertible_to<std::string_view>;
};

// A payload that holds members which are named elsewhere says itself how it is read and written.
template <class P>
concept OpenPayload = Payload<P> && requires(P& payload, const json::value& data) {
    { payload.written() } -> std::same_as<json::object>;
    { P::schema() } -> std::same_as<json::object>;
    payload.read_from(data);
};

// The object that is stored.
template <Payload P>
json::object written(const P& payload) {
    if constexpr (OpenPayload<P>)
        return payload.written();
    else
        return std::move(base::to_json(payload).as_object());
}

// An event that is decided and not stored yet: it has no id, number or time. Made from any payload.
struct Draft {
    std::string kind;
    json::object data;

    Draft() = default;
    template <Payload P>
    Draft(const P& payload)  // Not explicit: every payload is a draft.
        : kind(P::kKind), data(written(payload)) {}
    friend bool operator==(const Draft&, const Draft&) = default;
};

// Is the event of the kind that P is the payload of?
template <Payload P>
bool is(const Event& event) {
    return event.kind == P::kKind;
}

template <Payload... P>
bool is_any(const Event& event) {
    return (is<P>(event) || ...);
}

// The payload of a stored event; nothing when it is of another kind. An event that another version
// wrote is still read: members that are missing or of another type have their defaults, members
// that P does not have are ignored.
template <Payload P>
std::optional<P> read(const Event& event) {
    if (!is<P>(event)) return std::nullopt;
    P payload{};
    if constexpr (OpenPayload<P>) {
        payload.read_from(event.data);
    } else {
        std::vector<base::typed::Fault> faults;
        base::typed::decode(base::typed::type_of<P>(), &payload, event.data, base::Unknown::Ignore,
                            "", faults);
    }
    return payload;
}

// `payload` with the labels of `message`: where it came from, how it entered, what it may decide.
template <Payload P>
P labelled(P payload, const Message& message) {
    payload.origin = message.origin;
    payload.trust = message.trust;
    payload.authority_class = message.authority_class;
    payload.priority = message.priority;
    payload.delivery_surface = message.delivery_surface;
    payload.admission_context = message.admission_context;
    return payload;
}

// For describe_fields(): these optional members are written as null when they are absent.
template <class... Names>
constexpr auto null_when_absent(Names... names) {
    return std::to_array<base::FieldDoc>({{.field = names, .null_when_absent = true}...});
}

}  // namespace domain::events
