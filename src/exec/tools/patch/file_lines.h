// The lines of a file as it is, bytes and all.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace patch {

enum class Ending { None, Lf, CrLf };

std::string_view ending_text(Ending ending);

// Views into the bytes it was made from, which must outlive it. Lines count from 0.
class FileLines {
public:
    explicit FileLines(std::string_view bytes);

    std::size_t size() const { return starts_.size() - 1; }
    std::string_view raw(std::size_t i) const {
        return bytes_.substr(starts_[i], starts_[i + 1] - starts_[i]);
    }
    std::string_view text(std::size_t i) const {
        std::string_view line = raw(i);
        if (!line.ends_with('\n')) return line;
        line.remove_suffix(1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        return line;
    }
    Ending ending(std::size_t i) const;

    // The ending of the lines around the gap before line `i`.
    Ending style_before(std::size_t i) const;

private:
    std::string_view bytes_;
    std::vector<std::uint32_t> starts_;  // And the end: four bytes a line, for files of newlines.
};

}  // namespace patch
