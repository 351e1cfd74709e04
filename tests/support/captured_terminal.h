// A terminal whose output a test reads back.
#pragma once

#include <array>
#include <cstdio>
#include <string>

#include "base/result.h"
#include "surfaces/cli/view/terminal.h"

namespace test_support {

class CapturedTerminal {
public:
    explicit CapturedTerminal(bool is_terminal = false)
        : terminal{.out = std::tmpfile(),
                   .err = std::tmpfile(),
                   .out_is_terminal = is_terminal,
                   .err_is_terminal = is_terminal} {}
    ~CapturedTerminal() {
        std::fclose(terminal.out);
        std::fclose(terminal.err);
    }
    CapturedTerminal(const CapturedTerminal&) = delete;
    CapturedTerminal& operator=(const CapturedTerminal&) = delete;

    std::string out() const { return content_of(terminal.out); }
    std::string err() const { return content_of(terminal.err); }

    cli::Terminal terminal;

private:
    static std::string content_of(std::FILE* file) {
        std::string text;
        CHECK(std::fseek(file, 0, SEEK_SET) == 0, "a captured stream can be read back");
        std::array<char, 4096> buffer;
        while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file))
            text.append(buffer.data(), got);
        return text;
    }
};

}  // namespace test_support
