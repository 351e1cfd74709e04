// A few values for the operator to fill in, from a flat JSON Schema. Names, descriptions and
// choices are untrusted text. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "surfaces/show/line.h"
#include "surfaces/tui/keys.h"

namespace tui {

inline constexpr std::size_t kFieldsMax = 64;
inline constexpr std::size_t kFieldBytesMax = 4096;
inline constexpr std::size_t kChoicesMax = 200;

struct Field {
    enum class Kind {
        Text,
        Number,
        Integer,
        YesNo,   // `chosen`: 0 is yes, 1 is no.
        Choice,  // `chosen` of `choices`.
        List,    // Texts with commas between them.
        Json,    // Any other type, as JSON.
    };
    std::string name;
    std::string title{};
    std::string about{};
    Kind kind{Kind::Text};
    bool is_required{false};
    std::vector<std::string> choices{};  // What is shown,
    std::vector<std::string> values{};   // and what is answered.
    std::string text{};
    std::optional<std::size_t> chosen{};
};
// The properties of the schema in its order, with its defaults; those beyond kFieldsMax are left
// out.
std::vector<Field> fields_of(const json::object& schema);

// Keys: Up, Down and Tab go from field to field; Left, Right and the space bar choose; Enter goes
// on to the next field, and behind the last one the form is finished.
class Form {
public:
    explicit Form(std::vector<Field> fields) : fields_(std::move(fields)) {}

    bool is_empty() const { return fields_.empty(); }
    // False: not for it (Escape).
    bool on_key(const Key& key);
    // Enter was pressed on the last field, once.
    bool take_finished() { return std::exchange(is_finished_, false); }
    // What was filled in; fields that were left empty are left out. InvalidInput names the first
    // field that is needed or does not fit, which is then the current one.
    base::Result<json::object> values();
    // All lines, and which of them is the current field's first.
    std::vector<show::Line> lines(std::size_t columns, std::size_t& current_line) const;

private:
    bool choose(std::ptrdiff_t by);
    bool type(const Key& key);
    void go_to(std::size_t field);
    bool go_on();

    std::vector<Field> fields_;
    std::size_t current_{0};
    bool is_finished_{false};
};

}  // namespace tui
