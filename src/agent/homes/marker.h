// The mark on a template folder that this program, or an earlier version of it, has written.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/typed.h"

namespace homes {

struct Marker {
    std::string template_id;
    std::int64_t version{0};
    std::string content_hash;
    friend bool operator==(const Marker&, const Marker&) = default;
};
BOOST_DESCRIBE_STRUCT(Marker, (), (template_id, version, content_hash))

// The digest of the texts of a template; an empty `skills_json` is none.
std::string content_hash(std::string_view agents_md, std::string_view skills_json);

struct Seeded {
    Marker marker;
    bool is_unchanged{false};  // The files are those that were written with the marker.
    bool has_agents_md{false};
};
// Nothing when the folder has no marker that can be read.
std::optional<Seeded> read_seeded(const std::filesystem::path& folder);

}  // namespace homes
