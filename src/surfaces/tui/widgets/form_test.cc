#include "surfaces/tui/widgets/form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "surfaces/show/columns.h"

namespace tui {
namespace {

using testing::HasSubstr;

Form form_of(std::string_view schema) {
    return Form(fields_of(base::parse_json(schema).value().as_object()));
}
void press(Form& form, KeyName name, int times = 1) {
    for (int i = 0; i < times; ++i) form.on_key({.name = name});
}
void type(Form& form, std::string_view text) {
    for (; !text.empty(); text.remove_prefix(show::grapheme_bytes(text)))
        form.on_key({.text = std::string(text.substr(0, show::grapheme_bytes(text)))});
}
std::string shown(const Form& form, std::size_t columns = 60) {
    std::size_t current = 0;
    std::string all;
    for (const auto& line : form.lines(columns, current)) all += show::text_of(line) + "\n";
    return all;
}

TEST(Form, HasAFieldForEachTypeOfAFlatSchema) {
    Form form = form_of(R"({"properties":{
        "text":{"type":"string"}, "number":{"type":"number"}, "whole":{"type":"integer"},
        "yes":{"type":"boolean"}, "pick":{"type":"string","enum":["a","b"],"enumNames":["A!","B!"]},
        "titled":{"type":"string","oneOf":[{"const":"x","title":"The X"}]},
        "list":{"type":"array","items":{"type":"string","enum":["r","g"]}}, "any":{"type":"null"}}})");
    type(form, "漢字");
    press(form, KeyName::Enter);
    type(form, "1.5");
    press(form, KeyName::Enter);
    type(form, "7");
    press(form, KeyName::Enter);
    press(form, KeyName::Right, 2);
    press(form, KeyName::Enter);
    press(form, KeyName::Left);
    EXPECT_THAT(shown(form), HasSubstr("A!  B!"));
    press(form, KeyName::Enter);
    type(form, " ");
    press(form, KeyName::Enter);
    type(form, "r, g");
    press(form, KeyName::Enter);
    type(form, "null");
    EXPECT_FALSE(form.take_finished());
    press(form, KeyName::Enter);
    EXPECT_TRUE(form.take_finished());
    EXPECT_EQ(base::json_text(form.values().value()),
              R"({"text":"漢字","number":1.5,"whole":7,"yes":false,"pick":"b","titled":"x",)"
              R"("list":["r","g"],"any":null})");
}

TEST(Form, ShowsDefaultsAndLeavesOutWhatIsLeftEmpty) {
    Form form = form_of(R"({"properties":{
        "a":{"type":"string","default":"here"}, "b":{"type":"integer","default":3},
        "c":{"type":"boolean","default":false}, "d":{"enum":["x","y"],"default":"y"},
        "e":{"type":"string"}, "f":{"type":"boolean"}}})");
    EXPECT_THAT(shown(form), HasSubstr("here"));
    EXPECT_EQ(base::json_text(form.values().value()), R"({"a":"here","b":3,"c":false,"d":"y"})");
}

TEST(Form, NamesTheFieldThatIsNeededOrDoesNotFit) {
    Form form = form_of(R"({"required":["n","c"],"properties":{
        "n":{"type":"number","title":"Height"},"c":{"type":"boolean"}}})");
    EXPECT_EQ(form.values().error().message, "Height is needed");
    type(form, "tall");
    EXPECT_EQ(form.values().error().message, "Height must be a number");
    press(form, KeyName::Backspace, 4);
    type(form, "2");
    EXPECT_EQ(form.values().error().message, "c is needed");
    type(form, " ");  // The field that is missing is the current one.
    EXPECT_EQ(base::json_text(form.values().value()), R"({"n":2,"c":true})");
}

TEST(Form, WordsOfAServerDrawNothingAndAreBounded) {
    Form form = form_of(R"({"properties":{"a\u001b[2J":{"type":"string","title":"t\u001b[1mt\nu",
        "description":"d\u0007","default":"v\u001b]0;x\u0007"},
        "b":{"enum":["\u001b[31mred"]}}})");
    EXPECT_EQ(shown(form).find('\x1b'), std::string::npos);
    EXPECT_EQ(shown(form).find('\a'), std::string::npos);
    json::object properties;
    for (int i = 0; i < 500; ++i) properties[std::to_string(i)] = json::object{};
    EXPECT_EQ(fields_of({{"properties", properties}}).size(), kFieldsMax);
    form.on_key({.name = KeyName::Paste, .text = std::string(2 * kFieldBytesMax, 'x')});
    form.on_key({.name = KeyName::Paste, .text = "two\nlines"});
    EXPECT_THAT(shown(form), HasSubstr("two lines"));
}

TEST(Form, FitsIntoFortyColumns) {
    Form form = form_of(R"({"properties":{
        "choice":{"enum":["a very long choice of words","another long choice of words"],
                  "description":"説明は長いので、狭い端末では折り返されます。とても長い。"},
        "text":{"type":"string"}}})");
    press(form, KeyName::Right);
    EXPECT_THAT(shown(form, 40), HasSubstr("‹ a very long choice of words ›"));
    press(form, KeyName::Down);
    type(form, std::string(100, 'x') + "end");
    EXPECT_THAT(shown(form, 40), HasSubstr("xend"));
    std::size_t current = 0;
    for (const auto& line : form.lines(40, current)) EXPECT_LE(show::columns_of(line), 40U);
}

TEST(Form, WithoutFieldsIsFinishedAtOnce) {
    Form form = form_of(R"({"type":"object"})");
    EXPECT_TRUE(form.is_empty());
    press(form, KeyName::Enter);
    EXPECT_TRUE(form.take_finished());
    EXPECT_TRUE(form.values().value().empty());
}

}  // namespace
}  // namespace tui
