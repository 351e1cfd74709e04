#include "exec/sandbox/stand_ins.h"

#include <cctype>

#include "base/os/files.h"
#include "base/text.h"

namespace sandbox {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSettingsBytesMax = std::size_t{1} << 20;
constexpr std::size_t kValueCharsMax = 200;

base::Status keep(const fs::path& file, std::string_view text) {
    const auto there = base::read_file(file, kSettingsBytesMax);
    if (there && *there == text) return {};
    return base::write_file_atomic(file, text, 0444);
}

// Section names and keys are case-insensitive.
std::string word(std::string_view text) {
    std::string out(base::trim(text));
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

// A value without its trailing comment and its quotes.
std::string plain(std::string_view value) {
    std::string text;
    bool quoted = false;
    for (std::size_t i = 0; i < value.size(); ++i) {
        const char c = value[i];
        if (c == '"')
            quoted = !quoted;
        else if (c == '\\' && i + 1 < value.size())
            text += value[++i];
        else if (!quoted && (c == '#' || c == ';'))
            break;
        else
            text += c;
    }
    return base::ellipsize(base::printable(base::to_utf8(base::trim(text))), kValueCharsMax);
}

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) out.append(c == '"' || c == '\\' ? "\\" : "") += c;
    return out + '"';
}

}  // namespace

std::string git_identity(std::string_view settings) {
    std::string name, email;
    bool in_user = false;
    for (const auto raw : base::split_lines(settings)) {
        if (base::trim(raw).starts_with('[')) in_user = word(raw).starts_with("[user]");
        const auto equals = raw.find('=');
        if (!in_user || equals == std::string_view::npos) continue;
        const std::string key = word(raw.substr(0, equals));
        if (key == "name") name = plain(raw.substr(equals + 1));
        if (key == "email") email = plain(raw.substr(equals + 1));
    }
    if (name.empty() && email.empty()) return "";
    std::string text = "[user]\n";
    if (!name.empty()) text += fmt::format("\tname = {}\n", in_quotes(name));
    if (!email.empty()) text += fmt::format("\temail = {}\n", in_quotes(email));
    return text;
}

base::Result<StandIns> make_stand_ins(const fs::path& user_home, const fs::path& holon_home) {
    const fs::path folder = holon_home / "sandbox";
    StandIns made{folder, folder / "empty", folder / "gitconfig"};
    TRY(base::make_folders(folder, 0700));
    TRY(keep(made.empty, ""));
    // As in git, the later setting wins.
    std::string settings;
    for (const char* file : {".config/git/config", ".gitconfig"})
        settings += base::read_file(user_home / file, kSettingsBytesMax).value_or("") + "\n";
    TRY(keep(made.git_settings, git_identity(settings)));
    return made;
}

}  // namespace sandbox
