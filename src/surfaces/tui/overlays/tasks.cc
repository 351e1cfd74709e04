// Background tasks: their output while they run, stopping them, and what they are to read.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "surfaces/show/times.h"
#include "surfaces/tui/overlays/list.h"
#include "surfaces/tui/overlays/transcript_text.h"
#include "surfaces/tui/screen/cells.h"

namespace tui {
namespace {

constexpr std::int64_t kTasksMax = 50;
constexpr std::chrono::milliseconds kTailInterval{1000};
constexpr std::size_t kInputBytesMax = 4096;

show::Face face_of(domain::TaskStatus status) {
    if (status == domain::TaskStatus::Completed) return show::Face::Good;
    return domain::is_terminal(status) ? show::Face::Bad : show::Face::Accent;
}

class TasksOverlay final : public ListOverlay {
public:
    TasksOverlay(Desk& desk, std::vector<domain::Task> recent)
        : ListOverlay(desk, "Tasks"), recent_(std::move(recent)) {}

    std::string hint() const override {
        if (is_typing_) return "input: " + base::printable(input_) + "▏ · Enter sends it";
        return "↑↓ choose · x stops · i gives it input";
    }

    void load() override {
        call([this, agent = desk_.agent] { return desk_.service.tasks(agent, kTasksMax); },
             [this](const base::Result<std::vector<domain::Task>>& list) {
                 if (const auto* active = good(list)) show(*active);
             });
    }
    void on_change() override { load(); }

    std::chrono::milliseconds interval() const override {
        const auto id = selected_;
        const auto task = tasks_.find(id);
        const bool is_running = task != tasks_.end() && !domain::is_terminal(task->second.status);
        return is_running ? kTailInterval : std::chrono::milliseconds(0);
    }
    void on_tick() override { read_output(); }

    bool on_key(const Key& key, std::size_t rows) override {
        return is_typing_ ? on_input_key(key) : ListOverlay::on_key(key, rows);
    }

protected:
    std::vector<show::Line> detail(const std::string& id, std::size_t columns) override {
        const auto task = tasks_.find(id);
        if (task == tasks_.end()) return {};
        std::vector<show::Line> lines =
            text_lines(fmt::format("{} · {} · began {}", id, base::enum_name(task->second.status),
                                   show::local_time(task->second.created_at)),
                       columns, show::Face::Dim);
        const auto output = outputs_.find(id);
        if (output == outputs_.end()) return lines;
        std::ranges::move(text_lines(output->second, columns), std::back_inserter(lines));
        return lines;
    }
    void on_select(const std::string& id) override {
        selected_ = id;
        read_output();
    }
    bool on_row_key(const Key& key, const std::string& id) override {
        if (is_letter(key, "x")) {
            call([this, agent = desk_.agent,
                  id] { return desk_.service.stop_task(agent, id, desk_.caller); },
                 [this](const base::Result<domain::Task>& task) {
                     if (good(task)) desk_.note("The task was asked to stop");
                     load();
                 });
            return true;
        }
        if (is_letter(key, "i")) {
            is_typing_ = true;
            input_.clear();
            return true;
        }
        return false;
    }

private:
    void show(const std::vector<domain::Task>& active) {
        tasks_.clear();
        std::vector<Row> rows;
        const auto add = [&](const domain::Task& task, std::string_view group) {
            if (!tasks_.emplace(task.id.value, task).second) return;
            show::Line line =
                faced(std::string(base::enum_name(task.status)), face_of(task.status));
            append(line,
                   plain("  " + base::printable(base::collapse_whitespace(task.summary.value_or(
                                    std::string(base::enum_name(task.kind)))))));
            rows.push_back({.id = task.id.value, .line = line, .group = std::string(group)});
        };
        for (const auto& task : active) add(task, "active");
        for (const auto& task : recent_)
            if (domain::is_terminal(task.status)) add(task, "ended");
        set_rows(std::move(rows));
    }

    void read_output() {
        if (selected_.empty()) return;
        call([this, agent = desk_.agent,
              id = selected_] { return desk_.service.task_output(agent, id); },
             [this, id = selected_](const base::Result<json::object>& snapshot) {
                 if (!snapshot) return;
                 outputs_[id] = base::string_at(json::value(*snapshot), "output_preview");
                 refresh_detail();
             });
    }

    bool on_input_key(const Key& key) {
        if (key.name == KeyName::Escape) {
            is_typing_ = false;
        } else if (key.name == KeyName::Enter) {
            is_typing_ = false;
            call(
                [this, agent = desk_.agent, id = selected_, text = input_ + "\n"] {
                    return desk_.service.send_task_input(agent, id, text, desk_.caller);
                },
                [this](const base::Result<domain::Task>& task) {
                    if (good(task)) desk_.note("The task has received the input");
                });
        } else if (key.name == KeyName::Backspace) {
            if (!input_.empty()) input_ = base::first_chars(input_, base::char_count(input_) - 1);
        } else if (key.name == KeyName::Character || key.name == KeyName::Paste) {
            if (!key.ctrl && !key.alt && input_.size() + key.text.size() <= kInputBytesMax)
                input_ += key.text;
        }
        return true;
    }

    std::vector<domain::Task> recent_;
    std::map<std::string, domain::Task> tasks_;
    std::map<std::string, std::string> outputs_;
    std::string selected_;
    std::string input_;
    bool is_typing_{false};
};

}  // namespace

std::shared_ptr<Overlay> tasks_overlay(Desk& desk, std::vector<domain::Task> recent) {
    return std::make_shared<TasksOverlay>(desk, std::move(recent));
}

}  // namespace tui
