// A vault as it would be after changes that were only pretended: what a preview reads.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "exec/tools/vault/steps.h"

namespace vault {

// Kept in memory; the vault itself is never touched. Calls that pretend use it one after the other.
// Paths are those of the steps: a link inside the vault to a changed file is not followed.
class Overlay {
public:
    // What is at a path: as it is on disk, possibly under another path, or pretended.
    struct OnDisk {
        std::string path;
    };
    struct Gone {};
    struct Folder {};  // A new one.
    struct File {
        std::string bytes;
    };
    using Place = std::variant<OnDisk, Gone, Folder, File>;

    Place at(std::string_view path) const;
    // Names that were put directly below `folder`, and whether each is there now.
    std::vector<std::pair<std::string, bool>> names_in(std::string_view folder) const;

    void apply(const Step& step);

private:
    void put(const std::string& path, Place place);
    void move(const std::string& from, const std::string& to);

    std::map<std::string, Place, std::less<>> places_;
};

}  // namespace vault
