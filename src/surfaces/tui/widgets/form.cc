#include "surfaces/tui/widgets/form.h"

#include <algorithm>

#include "base/text.h"
#include "surfaces/show/columns.h"
#include "surfaces/tui/compose/draft.h"
#include "surfaces/tui/screen/cells.h"

namespace tui {
namespace {

using base::ErrorCode;
using base::fail;

constexpr std::size_t kTitleCharsMax = 60;
constexpr std::size_t kAboutCharsMax = 300;
constexpr std::size_t kChoiceCharsMax = 80;

std::string one_line(std::string_view text, std::size_t chars) {
    return base::printable(base::ellipsize(base::collapse_whitespace(base::to_utf8(text)), chars));
}

const json::array* list_at(const json::value& value, std::string_view name) {
    const auto* list = base::find(value, name);
    return list ? list->if_array() : nullptr;
}

void add_choice(Field& field, std::string value, std::string_view shown) {
    if (field.values.size() >= kChoicesMax) return;
    field.choices.push_back(one_line(shown.empty() ? value : shown, kChoiceCharsMax));
    field.values.push_back(std::move(value));
}

// `enum` with or without `enumNames`, or `oneOf` with titles.
void read_choices(Field& field, const json::value& property) {
    const auto* names = list_at(property, "enumNames");
    if (const auto* values = list_at(property, "enum"))
        for (std::size_t i = 0; i < values->size(); ++i)
            if (const auto* text = (*values)[i].if_string()) {
                const auto* name = names && i < names->size() ? (*names)[i].if_string() : nullptr;
                add_choice(field, std::string(*text),
                           name ? std::string_view(*name) : std::string_view());
            }
    if (const auto* options = list_at(property, "oneOf"))
        for (const auto& option : *options)
            if (option.is_object() && base::find(option, "const"))
                add_choice(field, base::string_at(option, "const"),
                           base::string_at(option, "title"));
}

Field::Kind kind_of(const Field& field, const json::value& property) {
    const std::string type = base::string_at(property, "type", "string");
    if (!field.choices.empty()) return Field::Kind::Choice;
    if (type == "string") return Field::Kind::Text;
    if (type == "number") return Field::Kind::Number;
    if (type == "integer") return Field::Kind::Integer;
    if (type == "boolean") return Field::Kind::YesNo;
    return type == "array" ? Field::Kind::List : Field::Kind::Json;
}

std::string list_text(const json::value& value) {
    std::string text;
    if (const auto* list = value.if_array())
        for (const auto& entry : *list)
            if (const auto* one = entry.if_string())
                text += (text.empty() ? "" : ", ") + std::string(*one);
    return text;
}

void preset(Field& field, const json::value& value) {
    if (field.kind == Field::Kind::Choice) {
        const auto* text = value.if_string();
        const auto found =
            text ? std::ranges::find(field.values, std::string_view(*text)) : field.values.end();
        if (found != field.values.end())
            field.chosen = static_cast<std::size_t>(found - field.values.begin());
    } else if (field.kind == Field::Kind::YesNo) {
        if (const auto* yes = value.if_bool()) field.chosen = *yes ? 0 : 1;
    } else if (field.kind == Field::Kind::List) {
        field.text = list_text(value);
    } else {
        const auto* text = value.if_string();
        field.text = text ? std::string(*text) : base::json_text(value);
    }
    field.text = clean(field.text);
    std::ranges::replace(field.text, '\n', ' ');
    if (field.text.size() > kFieldBytesMax) field.text.clear();
}

Field field_of(std::string name, const json::value& property) {
    Field field{.name = std::move(name)};
    field.title = one_line(field.name, kTitleCharsMax);
    if (!property.is_object()) return field;
    if (const auto title = base::string_at(property, "title"); !title.empty())
        field.title = one_line(title, kTitleCharsMax);
    field.about = one_line(base::string_at(property, "description"), kAboutCharsMax);
    read_choices(field, property);
    field.kind = kind_of(field, property);
    if (field.kind == Field::Kind::YesNo) field.choices = {"yes", "no"};
    if (field.kind == Field::Kind::List) {
        if (const auto* items = base::find(property, "items"); items && items->is_object()) {
            Field entries;
            read_choices(entries, *items);
            if (!entries.values.empty()) {
                std::string all;
                for (const auto& value : entries.values) all += (all.empty() ? "" : ", ") + value;
                field.about = one_line(field.about + " Of: " + all, kAboutCharsMax);
            }
        }
    }
    if (const auto* value = base::find(property, "default")) preset(field, *value);
    return field;
}

bool is_chosen_from(const Field& field) {
    return field.kind == Field::Kind::Choice || field.kind == Field::Kind::YesNo;
}

std::string_view wants(Field::Kind kind) {
    switch (kind) {
        case Field::Kind::Number:
            return "a number";
        case Field::Kind::Integer:
            return "a whole number";
        case Field::Kind::List:
            return "texts with commas between them";
        case Field::Kind::Json:
            return "JSON";
        case Field::Kind::Text:
        case Field::Kind::YesNo:
        case Field::Kind::Choice:
            break;
    }
    return "a text";
}

// The value of a field that was filled in.
base::Result<json::value> value_of(const Field& field) {
    const auto wrong = [&] {
        return fail(ErrorCode::InvalidInput, "{} must be {}", field.title, wants(field.kind));
    };
    switch (field.kind) {
        case Field::Kind::Text:
            return json::value(field.text);
        case Field::Kind::YesNo:
            return json::value(*field.chosen == 0);
        case Field::Kind::Choice:
            return json::value(field.values.at(*field.chosen));
        case Field::Kind::List: {
            json::array list;
            std::string_view rest = field.text;
            while (!rest.empty()) {
                const std::size_t comma = std::min(rest.find(','), rest.size());
                if (const auto entry = base::trim(rest.substr(0, comma)); !entry.empty())
                    list.emplace_back(entry);
                rest.remove_prefix(std::min(comma + 1, rest.size()));
            }
            return json::value(std::move(list));
        }
        case Field::Kind::Number:
        case Field::Kind::Integer: {
            auto value = base::parse_json(base::trim(field.text));
            if (!value || !value->is_number()) return wrong();
            if (field.kind == Field::Kind::Integer && value->is_double()) return wrong();
            return *value;
        }
        case Field::Kind::Json: {
            auto value = base::parse_json(field.text);
            if (!value) return wrong();
            return *value;
        }
    }
    return wrong();
}

show::Line value_line(const Field& field, bool is_current, std::size_t columns) {
    const show::Face face = is_current ? show::Face::Plain : show::Face::Dim;
    show::Line line = faced(is_current ? "  > " : "    ", show::Face::Accent);
    if (!is_chosen_from(field)) {
        // The end is where it is typed.
        const std::size_t room = columns > 6 ? columns - 6 : 1;
        std::string text = base::printable(field.text);
        while (show::columns_of(text) > room) text = text.substr(show::grapheme_bytes(text));
        append(line, faced(text, face));
        if (is_current) append(line, faced("▏", show::Face::Accent));
        return line;
    }
    if (field.kind == Field::Kind::YesNo || is_current) {
        for (std::size_t i = 0; i < field.choices.size(); ++i)
            append(line, faced((i == 0 ? "" : "  ") + field.choices[i],
                               field.chosen == i ? show::Face::Selected : face));
        if (show::columns_of(line) <= columns) return line;
        line = faced(is_current ? "  > " : "    ", show::Face::Accent);
    }
    append(line, faced(field.chosen ? "‹ " + field.choices[*field.chosen] + " ›" : "‹ choose ›",
                       field.chosen ? show::Face::Plain : show::Face::Dim));
    return line;
}

}  // namespace

std::vector<Field> fields_of(const json::object& schema) {
    std::vector<Field> fields;
    const json::value whole = schema;
    const auto* properties = base::find(whole, "properties");
    if (!properties || !properties->is_object()) return fields;
    for (const auto& property : properties->get_object())
        if (fields.size() < kFieldsMax)
            fields.push_back(field_of(std::string(property.key()), property.value()));
    if (const auto* required = list_at(whole, "required"))
        for (auto& field : fields)
            field.is_required = std::ranges::any_of(*required, [&](const json::value& name) {
                const auto* text = name.if_string();
                return text && std::string_view(*text) == field.name;
            });
    return fields;
}

bool Form::on_key(const Key& key) {
    if (fields_.empty()) return key.name == KeyName::Enter && go_on();
    switch (key.name) {
        case KeyName::Up:
            go_to(current_ == 0 ? 0 : current_ - 1);
            return true;
        case KeyName::Down:
        case KeyName::Tab:
            go_to(current_ + 1);
            return true;
        case KeyName::Left:
            return choose(-1);
        case KeyName::Right:
            return choose(1);
        case KeyName::Enter:
            return go_on();
        case KeyName::Backspace:
        case KeyName::Character:
        case KeyName::Paste:
            return type(key);
        case KeyName::Escape:
        case KeyName::Delete:
        case KeyName::Home:
        case KeyName::End:
        case KeyName::PageUp:
        case KeyName::PageDown:
        case KeyName::FocusIn:
        case KeyName::FocusOut:
            return false;
    }
    return false;
}

void Form::go_to(std::size_t field) {
    current_ = std::min(field, fields_.size() - 1);
}

bool Form::go_on() {
    if (current_ + 1 < fields_.size())
        ++current_;
    else
        is_finished_ = true;
    return true;
}

bool Form::choose(std::ptrdiff_t by) {
    Field& field = fields_[current_];
    if (!is_chosen_from(field)) return true;
    const auto count = static_cast<std::ptrdiff_t>(field.choices.size());
    const std::ptrdiff_t from =
        field.chosen ? static_cast<std::ptrdiff_t>(*field.chosen) : (by > 0 ? -1 : count);
    field.chosen = static_cast<std::size_t>((from + by + count) % count);
    return true;
}

bool Form::type(const Key& key) {
    Field& field = fields_[current_];
    if (key.ctrl || key.alt) return false;
    if (is_chosen_from(field)) {
        if (key.name == KeyName::Backspace) field.chosen.reset();
        return key.text == " " ? choose(1) : true;
    }
    if (key.name == KeyName::Backspace) {
        field.text.resize(show::last_grapheme(field.text));
        return true;
    }
    std::string typed = clean(key.text);
    std::ranges::replace(typed, '\n', ' ');
    if (field.text.size() + typed.size() <= kFieldBytesMax) field.text += typed;
    return true;
}

base::Result<json::object> Form::values() {
    json::object values;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
        const Field& field = fields_[i];
        const bool is_left_out = is_chosen_from(field) ? !field.chosen : field.text.empty();
        if (is_left_out && !field.is_required) continue;
        if (is_left_out) {
            current_ = i;
            return fail(ErrorCode::InvalidInput, "{} is needed", field.title);
        }
        auto value = value_of(field);
        if (!value) {
            current_ = i;
            return std::unexpected(value.error());
        }
        values[field.name] = std::move(*value);
    }
    return values;
}

std::vector<show::Line> Form::lines(std::size_t columns, std::size_t& current_line) const {
    std::vector<show::Line> lines;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
        const Field& field = fields_[i];
        if (i == current_) current_line = lines.size();
        show::Line title = faced(field.title, i == current_ ? show::Face::Bold : show::Face::Plain);
        append(title, dim(field.is_required ? "  (needed)" : ""));
        lines.push_back(show::fitted(title, columns));
        if (!field.about.empty())
            for (auto& line : show::wrapped("  " + field.about, columns))
                lines.push_back(dim(std::move(line)));
        lines.push_back(show::fitted(value_line(field, i == current_, columns), columns));
    }
    return lines;
}

}  // namespace tui
