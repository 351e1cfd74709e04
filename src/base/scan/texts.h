// Known credentials taken out of plain records: every text in them, at any depth.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include "base/scan/secrets.h"

namespace scan {

template <class T>
void remove_credentials_in(T& value);

namespace texts {
template <class T>
void in_each(T& list) {
    for (auto& item : list) remove_credentials_in(item);
}
inline void visit(std::string& text) {
    text = without_credentials(std::move(text));
}
inline void visit(json::value& value) {
    remove_credentials(value);
}
inline void visit(json::object& object) {
    for (auto& member : object) remove_credentials(member.value());
}
template <class T>
void visit(std::optional<T>& value) {
    if (value) remove_credentials_in(*value);
}
template <class T>
void visit(std::vector<T>& list) {
    in_each(list);
}
template <class K, class T>
void visit(std::map<K, T>& map) {
    for (auto& [key, value] : map) remove_credentials_in(value);
}
template <class... Ts>
void visit(std::variant<Ts...>& value) {
    std::visit([](auto& held) { remove_credentials_in(held); }, value);
}
}  // namespace texts

// Numbers, times and enumerations have no text. A record must be described (BOOST_DESCRIBE_STRUCT).
template <class T>
void remove_credentials_in(T& value) {
    if constexpr (requires { texts::visit(value); }) {
        texts::visit(value);
    } else if constexpr (boost::describe::has_describe_members<T>::value) {
        using Members = boost::describe::describe_members<T, boost::describe::mod_public>;
        boost::mp11::mp_for_each<Members>(
            [&](auto member) { remove_credentials_in(value.*member.pointer); });
    }
}

}  // namespace scan
