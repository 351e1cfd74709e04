// Many expressions over bytes at once: Vectorscan finds where a match ends, RE2 where it begins.
//
// Asking Vectorscan for the start would cost it thirtyfold; RE2 sees only the few bytes before an
// end. Any thread may use one Matcher; a Stream belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace scan {

// No expression may match more bytes than this.
inline constexpr std::size_t kMatchBytesMax = 4096;

struct Match {
    std::size_t expression{0};  // Its place in the list.
    std::uint64_t begin{0};     // Offsets of the first group, or of the whole without one.
    std::uint64_t end{0};
    std::string_view value;  // The bytes between them; valid during the visit.
};
using VisitMatch = std::function<void(const Match&)>;

// What is wanted of an expression's matches.
enum class Wanted : std::uint8_t {
    Bounds,
    End,  // Every one of them; `begin` is `end`, and the value is empty.
};

struct Sought {
    std::string name;  // For the message of an error.
    std::string expression;
    // What every match of `expression` ends with, where that is faster to find: Vectorscan looks
    // for this, and RE2 reads the whole expression backwards from there.
    std::optional<std::string> ending{};
    Wanted wanted{Wanted::Bounds};
};

class Matcher {
public:
    // InvalidInput when an expression is not one for both engines, or may match too many bytes; the
    // message has its name. What prepare() made of the same expressions saves the building, some
    // milliseconds for each; what it made of others, or for another library, is ignored.
    static base::Result<Matcher> compile(std::vector<Sought> sought,
                                         std::string_view prepared = {});
    // For the build of the program; good on every processor. Refuses what compile() refuses.
    static base::Result<std::string> prepare(const std::vector<Sought>& sought);
    ~Matcher();
    Matcher(Matcher&&) noexcept;
    Matcher& operator=(Matcher&&) = delete;

    // Visits the matches in `text`. Of matches of one expression that end at neighbouring bytes
    // only the longest is visited, unless it has an ending. Order is by end, roughly.
    void find(std::string_view text, const VisitMatch& visit) const;

    // The most bytes that a match can have, with a byte of context on each side.
    std::size_t width_max() const;

    // The same over pieces. A match may be visited in two parts when a piece ends inside it.
    class Stream {
    public:
        Stream(const Matcher& matcher, VisitMatch visit);
        ~Stream();
        Stream(Stream&&) = delete;
        void feed(std::string_view piece);
        void finish();  // Matches that need the end of the text come now.

    private:
        struct State;
        std::unique_ptr<State> state_;
    };

private:
    struct Engines;
    explicit Matcher(std::unique_ptr<Engines> engines);
    std::unique_ptr<Engines> engines_;
};

}  // namespace scan
