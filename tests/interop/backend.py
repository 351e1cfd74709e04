"""A model API of several vendors on one port: three rounds, two tool calls and an answer.

The round follows from how many results are in the request. GET /last gives the last request, GET /taken
all bodies since it was asked before. The commands that it lets run may be given as arguments.
"""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = "All rounds are done."
COMMANDS = ["echo first-result", "echo second-result"]
last = {"path": "", "body": {}}
taken = []


def results_in(body):
    """How many tool results the conversation has, in the format of any of the APIs."""
    count = 0
    for message in body.get("messages", []):
        if message.get("role") == "tool":
            count += 1
        if isinstance(message.get("content"), list):
            count += sum(1 for part in message["content"] if part.get("type") == "tool_result")
    for item in body.get("input", []) if isinstance(body.get("input"), list) else []:
        count += item.get("type") == "function_call_output"
    # A server that keeps state receives only what is new.
    if body.get("previous_response_id"):
        count += int(body["previous_response_id"].split("_")[1])
    return count


def chat(body, done):
    number = results_in(body)
    if done:
        message = {"role": "assistant", "content": ANSWER}
    else:
        message = {"role": "assistant", "content": None, "tool_calls": [{
            "id": f"call_{number}", "type": "function", "index": 0,
            "function": {"name": "ExecCommand",
                         "arguments": json.dumps({"cmd": COMMANDS[number]})}}]}
    reason = "stop" if done else "tool_calls"
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    base = {"id": f"chatcmpl-{number}", "created": 1, "model": body["model"]}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
    piece = {**base, "object": "chat.completion.chunk"}
    return [{**piece, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**piece, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {**piece, "choices": [], "usage": usage}, "[DONE]"]


def messages(body, done):
    number = results_in(body)
    if done:
        block = {"type": "text", "text": ANSWER}
    else:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": "ExecCommand",
                 "input": {"cmd": COMMANDS[number]}}
    reason = "end_turn" if done else "tool_use"
    base = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"]}
    usage = {"input_tokens": 10, "output_tokens": 5}
    if not body.get("stream"):
        return {**base, "content": [block], "stop_reason": reason, "stop_sequence": None,
                "usage": usage}
    if done:
        start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": ANSWER}
    else:
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [{"type": "message_start",
             "message": {**base, "content": [], "stop_reason": None, "usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None},
             "usage": {"output_tokens": 5}},
            {"type": "message_stop"}]


def responses(body, done):
    number = results_in(body)
    if done:
        item = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
                "content": [{"type": "output_text", "text": ANSWER, "annotations": []}]}
    else:
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}",
                "status": "completed", "name": "ExecCommand",
                "arguments": json.dumps({"cmd": COMMANDS[number]})}
    response = {"id": f"resp_{number}", "object": "response", "created_at": 1,
                "status": "completed", "model": body["model"], "output": [item],
                "parallel_tool_calls": False, "tool_choice": "auto", "tools": [], "error": None,
                "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}
    if not body.get("stream"):
        return response
    events = [{"type": "response.created",
               "response": {**response, "status": "in_progress", "output": []}}]
    at = {"item_id": item["id"], "output_index": 0}
    if done:
        empty = {"type": "output_text", "text": "", "annotations": []}
        events += [{"type": "response.output_item.added", "output_index": 0,
                    "item": {**item, "status": "in_progress", "content": []}},
                   {"type": "response.content_part.added", **at, "content_index": 0, "part": empty},
                   {"type": "response.output_text.delta", **at, "content_index": 0, "delta": ANSWER},
                   {"type": "response.output_text.done", **at, "content_index": 0, "text": ANSWER},
                   {"type": "response.content_part.done", **at, "content_index": 0,
                    "part": item["content"][0]}]
    else:
        events += [{"type": "response.output_item.added", "output_index": 0,
                    "item": {**item, "status": "in_progress", "arguments": ""}},
                   {"type": "response.function_call_arguments.delta", **at,
                    "delta": item["arguments"]},
                   {"type": "response.function_call_arguments.done", **at,
                    "arguments": item["arguments"]}]
    events += [{"type": "response.output_item.done", "output_index": 0, "item": item},
               {"type": "response.completed", "response": response}]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/taken":
            bodies, taken[:] = list(taken), []
            return self.send(200, "application/json", json.dumps(bodies))
        self.send(200, "application/json", json.dumps(last))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        last.update(path=self.path, body=body)
        taken.append(body)
        # As a vendor that checks its fields.
        if "claude" in body["model"] and "prompt_cache_key" in body:
            error = {"type": "error", "error": {"type": "invalid_request_error",
                     "message": "prompt_cache_key: Extra inputs are not permitted"}}
            return self.send(400, "application/json", json.dumps(error))
        make = next(reply for path, reply in
                    (("/messages", messages), ("/responses", responses), ("", chat))
                    if path in self.path)
        reply = make(body, results_in(body) >= len(COMMANDS))
        if isinstance(reply, dict):
            return self.send(200, "application/json", json.dumps(reply))
        text = ""
        for event in reply:
            if isinstance(event, dict) and "type" in event:
                text += f"event: {event['type']}\n"
            text += f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n"
        self.send(200, "text/event-stream", text)

    def send(self, status, kind, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def serve():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    COMMANDS[:] = sys.argv[1:] or COMMANDS
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(serve())
