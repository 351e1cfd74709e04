// The terminal's bytes become keys.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "surfaces/tui/keys.h"

struct termpaint_input_;

namespace tui {

inline constexpr std::size_t kPasteBytesMax = 4 * 1024 * 1024;  // What is beyond is left out.

// One for each terminal; one thread.
class KeyReader {
public:
    KeyReader();
    ~KeyReader();
    KeyReader(const KeyReader&) = delete;
    KeyReader& operator=(const KeyReader&) = delete;

    // The keys that are complete with these bytes, in order.
    std::vector<Key> feed(std::string_view bytes);
    // Bytes are held that may be a whole key or the beginning of another, as after Escape. When no
    // more come soon, expire() says what they were.
    bool is_waiting() const;
    std::vector<Key> expire();

private:
    struct Sink;

    std::unique_ptr<Sink> sink_;
    termpaint_input_* input_;
};

// Pasted text as it is sent on: line ends as "\n", valid UTF-8, without what controls a terminal;
// tabs stay.
std::string cleaned_paste(std::string_view bytes);

}  // namespace tui
