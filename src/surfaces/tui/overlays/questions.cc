// A question of an MCP server (elicitation), answered in place.
#include <algorithm>

#include "base/text.h"
#include "surfaces/show/times.h"
#include "surfaces/tui/overlays/overlay.h"
#include "surfaces/tui/overlays/question_lines.h"
#include "surfaces/tui/overlays/transcript_text.h"
#include "surfaces/tui/screen/cells.h"
#include "surfaces/tui/widgets/form.h"

namespace tui {
namespace {

using Lines = std::vector<show::Line>;

void add(Lines& lines, Lines more) {
    std::ranges::move(more, std::back_inserter(lines));
}

std::vector<Field> fields_of(const service::McpQuestion& question) {
    return question.schema ? tui::fields_of(*question.schema) : std::vector<Field>{};
}

class QuestionOverlay final : public Overlay {
public:
    QuestionOverlay(Desk& desk, service::McpQuestion question)
        : Overlay(desk), question_(std::move(question)), form_(fields_of(question_)) {}

    std::string title() const override { return "Question"; }
    std::string hint() const override {
        if (question_.url) return "Enter accepts · y copies the address";
        return form_.is_empty() ? "Enter accepts"
                                : "↑↓ field · ←→ choose · Enter continues, then answers";
    }
    std::string escape_hint() const override { return "Esc goes back"; }

    Lines view(std::size_t columns, std::size_t rows) override {
        Lines lines = question_head(question_, columns);
        lines.emplace_back();
        std::size_t current = 0;
        const std::size_t head = lines.size();
        add(lines, form_.lines(columns, current));
        if (form_.is_empty() && !question_.url)
            add(lines, text_lines("It asks for no values: accept it, or go back and decline it.",
                                  columns, show::Face::Dim));
        // The current field, with its description and value, stays in sight.
        const std::size_t wanted = form_.is_empty() ? 0 : head + current + kFieldRows;
        const std::size_t last = lines.size() - std::min(lines.size(), rows);
        const std::size_t followed = wanted > rows ? std::min(wanted - rows, last) : 0;
        top_ = is_scrolled_ ? std::min(top_, last) : followed;
        rows_ = rows;
        lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(top_));
        lines.resize(rows);
        return lines;
    }

    bool on_key(const Key& key, std::size_t /*rows*/) override {
        if (key.name == KeyName::Escape) {
            desk_.open_approvals();
            return true;
        }
        if (key.name == KeyName::PageUp || key.name == KeyName::PageDown) {
            is_scrolled_ = true;
            top_ =
                key.name == KeyName::PageDown ? top_ + rows_ / 2 : top_ - std::min(top_, rows_ / 2);
            return true;
        }
        if (question_.url && key.name == KeyName::Character && key.text == "y") {
            desk_.copy(*question_.url);
            return true;
        }
        is_scrolled_ = false;
        const bool is_used = form_.on_key(key);
        if (form_.take_finished()) answer();
        return is_used;
    }

private:
    static constexpr std::size_t kFieldRows = 4;

    void answer() {
        if (is_sending_) return;
        service::McpAnswer answer{.action = "accept"};
        if (!question_.url) {
            auto values = form_.values();
            if (!values) return desk_.note(values.error().message);
            answer.content = std::move(*values);
        }
        is_sending_ = true;
        call([mcp = desk_.mcp, id = question_.id,
              answer = std::move(answer)] { return mcp->answer(id, answer); },
             [this](const base::Status& done) {
                 is_sending_ = false;
                 // Values that do not fit: the question still waits.
                 const bool waits = !done && done.error().code == base::ErrorCode::InvalidInput;
                 const std::string note = done ? "Answered" : done.error().message;
                 if (!waits) desk_.open_approvals();
                 desk_.note(note);
             });
    }

    const service::McpQuestion question_;
    Form form_;
    std::size_t top_{0};
    std::size_t rows_{1};
    bool is_scrolled_{false};
    bool is_sending_{false};
};

}  // namespace

std::vector<show::Line> question_head(const service::McpQuestion& question, std::size_t columns) {
    Lines lines = text_lines(
        fmt::format("The MCP server {} asks; never answer with a password. Without an answer it is "
                    "declined at {}.",
                    question.server, show::local_clock(question.expires_at)),
        columns, show::Face::Dim);
    add(lines, text_lines(question.message, columns));
    if (!question.url) return lines;
    lines.emplace_back();
    add(lines, text_lines("It wants you to open this address. holon does not open it:", columns,
                          show::Face::Warning));
    add(lines, text_lines(*question.url, columns, show::Face::Link));
    return lines;
}

std::vector<show::Line> question_lines(const service::McpQuestion& question, std::size_t columns) {
    Lines lines = question_head(question, columns);
    for (const auto& field : fields_of(question)) {
        show::Line line = faced("  " + field.title, show::Face::Accent);
        append(line, dim((field.is_required ? "  (needed)  " : "  ") + field.about));
        lines.push_back(show::fitted(line, columns));
    }
    return lines;
}

std::vector<service::McpQuestion> waiting_questions(service::McpLive* mcp) {
    if (mcp == nullptr) return {};
    return mcp->questions().value_or(std::vector<service::McpQuestion>{});
}

std::shared_ptr<Overlay> question_overlay(Desk& desk, service::McpQuestion question) {
    return std::make_shared<QuestionOverlay>(desk, std::move(question));
}

}  // namespace tui
