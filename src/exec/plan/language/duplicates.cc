#include "exec/plan/language/duplicates.h"

#include <set>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>

#include "base/json.h"

namespace plan {
namespace {

struct Handler {
    static constexpr std::size_t max_object_size = std::size_t(-1);
    static constexpr std::size_t max_array_size = std::size_t(-1);
    static constexpr std::size_t max_key_size = std::size_t(-1);
    static constexpr std::size_t max_string_size = std::size_t(-1);

    using Error = boost::system::error_code;
    using Text = json::string_view;

    std::vector<std::set<std::string>> open;
    std::string key;
    std::optional<std::string> duplicate;

    bool on_document_begin(Error&) { return true; }
    bool on_document_end(Error&) { return true; }
    bool on_object_begin(Error&) {
        open.emplace_back();
        return true;
    }
    bool on_object_end(std::size_t, Error&) {
        open.pop_back();
        return true;
    }
    bool on_array_begin(Error&) { return true; }
    bool on_array_end(std::size_t, Error&) { return true; }
    bool on_key_part(Text part, std::size_t, Error&) {
        key.append(part.data(), part.size());
        return true;
    }
    bool on_key(Text part, std::size_t, Error&) {
        key.append(part.data(), part.size());
        if (!open.back().insert(key).second) duplicate = key;
        key.clear();
        return !duplicate;
    }
    bool on_string_part(Text, std::size_t, Error&) { return true; }
    bool on_string(Text, std::size_t, Error&) { return true; }
    bool on_number_part(Text, Error&) { return true; }
    bool on_int64(std::int64_t, Text, Error&) { return true; }
    bool on_uint64(std::uint64_t, Text, Error&) { return true; }
    bool on_double(double, Text, Error&) { return true; }
    bool on_bool(bool, Error&) { return true; }
    bool on_null(Error&) { return true; }
    bool on_comment_part(Text, Error&) { return true; }
    bool on_comment(Text, Error&) { return true; }
};

}  // namespace

std::optional<std::string> duplicate_member(std::string_view text) {
    json::parse_options options;
    options.max_depth = base::kJsonDepthMax;
    json::basic_parser<Handler> parser(options);
    boost::system::error_code error;
    parser.write_some(false, text.data(), text.size(), error);
    return parser.handler().duplicate;
}

}  // namespace plan
