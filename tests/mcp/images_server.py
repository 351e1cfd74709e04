#!/usr/bin/env python3
"""A Model Context Protocol server over stdio whose one tool, show, returns images. Usage: images_server.py

The argument `what`: png, liar (HTML called PNG), huge (an image beyond every bound), many (thirty small ones),
audio, resource (an image as an embedded resource).
"""
import base64
import json
import struct
import sys
import zlib


def png(width, height, shade=0, filler=0):
    """A greyscale picture; `filler` bytes of a comment make it as large as one likes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes([shade]) * width) * height
    comment = chunk(b"tEXt", b"Comment\0" + b"x" * filler) if filler else b""
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + comment
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def image(data, mime="image/png"):
    return {"type": "image", "mimeType": mime, "data": base64.b64encode(data).decode()}


def show(what):
    if what == "liar":
        return [image(b"<html><script>alert(1)</script></html>")]
    if what == "huge":
        return [image(png(2, 2, filler=4_000_000))]
    if what == "many":
        return [image(png(2, 2, shade)) for shade in range(30)]
    if what == "audio":
        return [{"type": "audio", "mimeType": "audio/wav", "data": base64.b64encode(b"RIFF\0\0\0\0WAVE").decode()}]
    if what == "resource":
        return [{"type": "resource", "resource": {
            "uri": "file:///shot.png", "mimeType": "image/png", "blob": base64.b64encode(png(2, 2)).decode()}}]
    return [{"type": "text", "text": "The screen."}, image(png(3, 2))]


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "images", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": "show", "description": "Returns images.", "inputSchema": {
            "type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}}]}
    if method == "tools/call":
        return {"content": show(params["arguments"]["what"])}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "method" in message and "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
