#include "exec/plan/language/yaml.h"

#include <charconv>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "base/text.h"

namespace plan {
namespace {

using base::ErrorCode;

struct Refused {
    int line;
    std::string why;
};

json::value plain_scalar(const std::string& text) {
    if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
        return nullptr;
    if (text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "false" || text == "False" || text == "FALSE") return false;
    const char* begin = text.data() + (text.front() == '+' ? 1 : 0);
    const char* end = text.data() + text.size();
    std::int64_t whole = 0;
    if (auto [at, error] = std::from_chars(begin, end, whole); error == std::errc() && at == end)
        return whole;
    // Digits first, so that "inf", "nan" and plain words stay text.
    const char* digits = begin != end && *begin == '-' ? begin + 1 : begin;
    double number = 0;
    if (digits != end && (std::isdigit(static_cast<unsigned char>(*digits)) != 0 || *digits == '.'))
        if (auto [at, error] = std::from_chars(begin, end, number);
            error == std::errc() && at == end)
            return number;
    return json::string(text);
}

// Builds the value while the parser walks, so that nothing is ever resolved twice.
class Builder final : public YAML::EventHandler {
public:
    json::value take() { return std::move(root_); }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(mark, nullptr); }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        refuse(mark, "aliases (*name) are not allowed; write the value out");
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  const std::string& value) override {
        if (!base::is_utf8(value)) refuse(mark, "a value is not UTF-8");
        if (is_key_next()) return take_key(mark, value);
        if (tag == "?" || tag.empty())
            add(mark, plain_scalar(value));
        else if (tag == "!")
            add(mark, json::string(value));
        else
            refuse(mark, "tags (!name) are not allowed");
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                         YAML::EmitterStyle::value) override {
        open(mark, json::array());
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                    YAML::EmitterStyle::value) override {
        open(mark, json::object());
    }
    void OnMapEnd() override { close(); }

private:
    struct Open {
        json::value value;
        std::optional<std::string> key{};  // Read, its value is to come.
    };

    [[noreturn]] static void refuse(const YAML::Mark& mark, std::string why) {
        throw Refused{mark.line + 1, std::move(why)};
    }
    bool is_key_next() const {
        return !stack_.empty() && stack_.back().value.is_object() && !stack_.back().key;
    }
    void take_key(const YAML::Mark& mark, const std::string& key) {
        if (stack_.back().value.get_object().contains(key))
            refuse(mark, fmt::format("'{}' is there twice", base::printable(key)));
        stack_.back().key = key;
    }
    void open(const YAML::Mark& mark, json::value value) {
        if (is_key_next()) refuse(mark, "a key must be plain text");
        if (stack_.size() >= base::kJsonDepthMax)
            refuse(mark, fmt::format("it is nested more than {} deep", base::kJsonDepthMax));
        stack_.push_back({std::move(value)});
    }
    void close() {
        auto value = std::move(stack_.back().value);
        stack_.pop_back();
        add({}, std::move(value));
    }
    void add(const YAML::Mark& mark, json::value value) {
        if (stack_.empty()) {
            root_ = std::move(value);
            return;
        }
        auto& top = stack_.back();
        if (auto* array = top.value.if_array()) {
            array->push_back(std::move(value));
        } else if (!top.key) {
            refuse(mark, "a key must be plain text");
        } else {
            top.value.get_object().emplace(*top.key, std::move(value));
            top.key.reset();
        }
    }

    json::value root_;
    std::vector<Open> stack_;
};

// Is that line, counted from 0, indented with a tab? The library's own word for it is a riddle.
bool is_tabbed(std::string_view text, int line) {
    const auto lines = base::split_lines(text);
    if (line < 0 || line >= std::ssize(lines)) return false;
    const std::string_view at = lines[static_cast<std::size_t>(line)];
    return at.substr(0, at.find_first_not_of(" \t")).contains('\t');
}

}  // namespace

base::Result<json::value> parse_yaml(std::string_view text) {
    if (!base::is_utf8(text))
        return base::fail(ErrorCode::InvalidInput, "the document is not UTF-8");
    std::istringstream in{std::string(text)};
    try {
        YAML::Parser parser(in);
        Builder builder;
        if (!parser.HandleNextDocument(builder))
            return base::fail(ErrorCode::InvalidInput, "the document is empty");
        Builder second;
        if (parser.HandleNextDocument(second))
            return base::fail(ErrorCode::InvalidInput,
                              "there is more than one document; give one plan at a time");
        return builder.take();
    } catch (const Refused& refused) {
        return base::fail(ErrorCode::InvalidInput, "line {}: {}", refused.line, refused.why);
    } catch (const YAML::Exception& error) {
        return base::fail(ErrorCode::InvalidInput, "line {}: {}", error.mark.line + 1,
                          is_tabbed(text, error.mark.line)
                              ? "a tab cannot indent here; use spaces"
                              : base::printable(base::to_utf8(error.msg)));
    }
}

}  // namespace plan
