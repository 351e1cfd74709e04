#include "exec/gate/document/front_matter.h"

#include <charconv>
#include <cmath>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace gate {
namespace {

// Ends the parser from inside an event; the fault has been noted.
struct Stop {};

bool is_plain(const std::string& tag) {
    return tag.empty() || tag == "?";
}

json::value scalar_value(const std::string& text) {
    if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
        return nullptr;
    if (text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "false" || text == "False" || text == "FALSE") return false;
    const char* end = text.data() + text.size();
    const char* begin = text.data() + (text[0] == '+' ? 1 : 0);
    std::int64_t whole = 0;
    if (const auto read = std::from_chars(begin, end, whole);
        read.ec == std::errc() && read.ptr == end)
        return whole;
    const char first = *begin;
    double number = 0;
    if (first == '-' || first == '.' || (first >= '0' && first <= '9'))
        if (const auto read = std::from_chars(begin, end, number);
            read.ec == std::errc() && read.ptr == end && std::isfinite(number))
            return number;
    return json::string(text);
}

// Builds JSON from the parser's events, so that nothing is built that the bounds forbid: yaml-cpp's
// own nodes would keep a key twice and follow aliases into a graph.
class Builder final : public YAML::EventHandler {
public:
    explicit Builder(YamlDocument& out) : out_(out) {}

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark&, YAML::anchor_t anchor) override {
        refuse_anchor(anchor);
        scalar(nullptr, "null");
    }
    void OnAlias(const YAML::Mark&, YAML::anchor_t) override {
        stop("yaml_alias", "an alias (*name) is not allowed; write the value out");
    }
    void OnScalar(const YAML::Mark&, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        refuse_anchor(anchor);
        if (tag == "!")
            scalar(json::string(value), value);
        else if (is_plain(tag))
            scalar(scalar_value(value), value);
        else
            stop("yaml_tag", "a tag (!name) is not allowed");
    }
    void OnSequenceStart(const YAML::Mark&, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(tag, anchor, json::array());
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark&, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(tag, anchor, json::object());
    }
    void OnMapEnd() override { close(); }

    json::value take() { return std::move(root_); }

private:
    struct Level {
        json::value value;
        std::string key;  // Of the value that comes next, in a map.
        bool has_key{false};
    };

    [[noreturn]] void stop(std::string rule, std::string message) {
        out_.faults.push_back({std::move(rule), pointer(), std::move(message)});
        throw Stop{};
    }

    void refuse_anchor(YAML::anchor_t anchor) {
        if (anchor != 0) stop("yaml_alias", "an anchor (&name) is not allowed");
    }

    std::string pointer() const {
        std::string path;
        for (const auto& level : levels_) {
            if (const auto* list = level.value.if_array())
                path += fmt::format("/{}", list->size());
            else if (level.has_key)
                path += "/" + level.key;
        }
        return path;
    }

    void count() {
        if (++nodes_ > kYamlNodesMax)
            stop("yaml_size",
                 fmt::format("the front matter has more than {} values", kYamlNodesMax));
    }

    bool wants_key() const {
        return !levels_.empty() && levels_.back().value.is_object() && !levels_.back().has_key;
    }

    void scalar(json::value value, const std::string& text) {
        count();
        if (!wants_key()) return add(std::move(value));
        levels_.back().key = text;
        levels_.back().has_key = true;
        if (levels_.back().value.get_object().contains(text))
            out_.faults.push_back(
                {"duplicate_key", pointer(), fmt::format("the key '{}' is there twice", text)});
    }

    void open(const std::string& tag, YAML::anchor_t anchor, json::value empty) {
        count();
        refuse_anchor(anchor);
        if (!is_plain(tag) && tag != "!") stop("yaml_tag", "a tag (!name) is not allowed");
        if (wants_key()) stop("yaml_key", "a key must be plain text");
        if (levels_.size() >= kYamlDepthMax)
            stop("yaml_depth", fmt::format("values are nested deeper than {}", kYamlDepthMax));
        levels_.push_back({.value = std::move(empty)});
    }

    void close() {
        auto value = std::move(levels_.back().value);
        levels_.pop_back();
        add(std::move(value));
    }

    void add(json::value value) {
        if (levels_.empty()) {
            root_ = std::move(value);
            return;
        }
        Level& level = levels_.back();
        if (auto* list = level.value.if_array()) {
            list->push_back(std::move(value));
            return;
        }
        level.value.get_object()[level.key] = std::move(value);
        level.has_key = false;
    }

    YamlDocument& out_;
    std::vector<Level> levels_;
    json::value root_;
    std::size_t nodes_{0};
};

}  // namespace

YamlDocument read_yaml(std::string_view text) {
    YamlDocument out;
    Builder builder(out);
    try {
        std::istringstream stream{std::string(text)};
        YAML::Parser parser(stream);
        if (!parser.HandleNextDocument(builder))
            out.faults.push_back({"yaml_syntax", "", "the front matter is empty"});
        else if (parser.HandleNextDocument(builder))
            out.faults.push_back({"yaml_syntax", "", "the front matter is more than one document"});
    } catch (const Stop&) {
        // Noted where it was thrown.
    } catch (const std::exception& error) {
        out.faults.push_back({"yaml_syntax", "", fmt::format("not YAML: {}", error.what())});
    }
    if (out.faults.empty()) out.value = builder.take();
    return out;
}

}  // namespace gate
