#include "exec/tools/vault/changes/overlay.h"

#include "exec/tools/vault/names.h"

namespace vault {
namespace {

bool is_inside(std::string_view path, std::string_view folder) {
    return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

}  // namespace

Overlay::Place Overlay::at(std::string_view path) const {
    if (const auto found = places_.find(path); found != places_.end()) return found->second;
    for (std::string_view above = folder_of(path); !above.empty(); above = folder_of(above)) {
        const auto found = places_.find(above);
        if (found == places_.end()) continue;
        const std::string_view rest = path.substr(above.size());
        if (const auto* disk = std::get_if<OnDisk>(&found->second))
            return OnDisk{disk->path + std::string(rest)};
        return Gone{};
    }
    return OnDisk{std::string(path)};
}

std::vector<std::pair<std::string, bool>> Overlay::names_in(std::string_view folder) const {
    std::vector<std::pair<std::string, bool>> names;
    const std::string start = folder.empty() ? std::string() : std::string(folder) + "/";
    for (auto place = places_.lower_bound(start);
         place != places_.end() && place->first.starts_with(start); ++place) {
        const std::string_view rest = std::string_view(place->first).substr(start.size());
        if (!rest.empty() && !rest.contains('/'))
            names.emplace_back(rest, !std::holds_alternative<Gone>(place->second));
    }
    return names;
}

void Overlay::apply(const Step& step) {
    if (const auto* folder = std::get_if<MakeFolder>(&step))
        put(folder->path, Folder{});
    else if (const auto* made = std::get_if<CreateFile>(&step))
        put(made->path, File{made->bytes});
    else if (const auto* changed = std::get_if<ModifyFile>(&step))
        put(changed->path, File{changed->after});
    else if (const auto* moved = std::get_if<Move>(&step))
        move(moved->from, moved->to);
    else if (const auto* removed = std::get_if<RemoveFile>(&step))
        put(removed->path, Gone{});
    else if (const auto* emptied = std::get_if<RemoveFolder>(&step))
        put(emptied->path, Gone{});
}

// What was known of things below belongs to what was there before.
void Overlay::put(const std::string& path, Place place) {
    std::erase_if(places_, [&](const auto& entry) { return is_inside(entry.first, path); });
    places_.insert_or_assign(path, std::move(place));
}

void Overlay::move(const std::string& from, const std::string& to) {
    Place place = at(from);
    std::map<std::string, Place, std::less<>> below;
    for (const auto& [path, inside] : places_)
        if (is_inside(path, from)) below[to + path.substr(from.size())] = inside;
    put(from, Gone{});
    put(to, std::move(place));
    for (auto& [path, inside] : below) places_.insert_or_assign(path, std::move(inside));
}

}  // namespace vault
