#!/usr/bin/env python3
"""An MCP server that wants a login, and its authorization server, in one program. Usage: oauth_server.py MODE

Prints its port, then serves until its standard input ends. Written against the specifications (OAuth 2.1, RFC
7591, 7636, 8414, 8707, 9207, 9728) and not against our client: it rejects what they say it must. Its
authorization endpoint is its own operator: it allows everything at once.

MODE: plain; honest ways: well_known (no resource_metadata in the challenge), openid (metadata of OpenID Connect),
old (no metadata of the resource), secret (registers clients with a secret), no_registration, no_refresh, denied
(the operator says no), scope (the tool needs another scope), short (tokens are good for one call); lies:
other_issuer, downgrade (a token endpoint without https), redirect (metadata redirects without end), huge (metadata
without end), no_pkce, other_resource, other_iss (the answer is of another server), no_iss, injection (a token with
a line break), no_json, loop (every token is refused), drip (metadata that comes byte by byte).
"""
import base64
import hashlib
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

MODE = sys.argv[1]
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
codes, clients, access, refresh, seen = {}, {}, {}, {}, []
lock = threading.Lock()
number = [0]


def fresh(prefix):
    with lock:
        number[0] += 1
        return f"{prefix}-{number[0]:04d}-{hashlib.sha256(str(number[0]).encode()).hexdigest()[:24]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=None, **headers):
        data = b"" if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def flood(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b'{"a":"' + b"x" * 65536)
        except OSError:
            self.close_connection = True

    def issuer(self):
        return BASE + ("/realm" if MODE == "openid" else "")

    def do_GET(self):
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/authorize":
            return self.authorize(query)
        if url.path == "/seen":
            return self.answer(200, seen)
        if url.path.startswith("/.well-known/oauth-protected-resource") and MODE != "old":
            return self.resource(url.path)
        if url.path == "/.well-known/oauth-authorization-server" and MODE != "openid":
            return self.metadata()
        if url.path == "/realm/.well-known/openid-configuration" and MODE == "openid":
            return self.metadata()
        if MODE == "redirect":
            return self.answer(302, Location=self.path + "x")
        self.answer(404)

    def resource(self, path):
        if MODE == "redirect":
            return self.answer(302, Location=path + "x")
        if MODE == "huge":
            return self.flood()
        if MODE == "well_known" and path != "/.well-known/oauth-protected-resource/mcp":
            return self.answer(404)
        self.answer(200, {"resource": "https://bank.example/mcp" if MODE == "other_resource" else BASE + "/mcp",
                          "authorization_servers": [self.issuer()], "scopes_supported": ["tools:read"]})

    def metadata(self):
        if MODE == "drip":
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b" ")
                    time.sleep(0.05)
            except OSError:
                return None
        document = {"issuer": "https://login.example" if MODE == "other_issuer" else self.issuer(),
                    "authorization_endpoint": BASE + "/authorize",
                    "token_endpoint": "http://login.example/token" if MODE == "downgrade" else BASE + "/token",
                    "revocation_endpoint": BASE + "/revoke",
                    "code_challenge_methods_supported": ["plain"] if MODE == "no_pkce" else ["S256"],
                    "authorization_response_iss_parameter_supported": MODE in ("other_iss", "no_iss")}
        if MODE != "no_registration":
            document["registration_endpoint"] = BASE + "/register"
        self.answer(200, document)

    def authorize(self, query):
        """Allows at once, if the request is right; says in words what is wrong otherwise."""
        client = clients.get(query.get("client_id"))
        wrong = [name for name, good in {
            "client_id": client is not None,
            "redirect_uri": client and query.get("redirect_uri") in client["redirect_uris"],
            "response_type": query.get("response_type") == "code",
            "challenge": query.get("code_challenge_method") == "S256" and len(query.get("code_challenge", "")) == 43,
            "resource": query.get("resource") == BASE + "/mcp",
            "state": len(query.get("state", "")) >= 16}.items() if not good]
        if wrong:
            return self.answer(400, {"wrong": wrong})
        answer = {"state": query["state"]}
        if MODE == "other_iss":
            answer["iss"] = "https://login.example"
        elif MODE != "no_iss":
            answer["iss"] = self.issuer()
        if MODE == "denied":
            answer["error"] = "access_denied"
            answer["error_description"] = "The operator\u001b[31m said no."
        else:
            answer["code"] = fresh("code")
            codes[answer["code"]] = query
        self.answer(302, Location=query["redirect_uri"] + "?" + urlencode(answer))

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if urlsplit(self.path).path == "/mcp":
            return self.serve(json.loads(body))
        if self.path == "/register":
            client = json.loads(body)
            if client.get("application_type") != "native" or client.get("token_endpoint_auth_method") != "none":
                return self.answer(400, {"error": "invalid_client_metadata"})
            name = fresh("client")
            if MODE == "secret":
                client["client_secret"] = fresh("secret")
                client["token_endpoint_auth_method"] = "client_secret_basic"
            clients[name] = client
            return self.answer(201, {"client_id": name, **client})
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        if self.path == "/revoke":
            seen.append("revoke")
            access.pop(form["token"], None)
            refresh.pop(form["token"], None)
            return self.answer(200)
        if self.path == "/token":
            return self.token(form)
        self.answer(404)

    def client_of(self, form):
        basic = self.headers.get("Authorization", "")
        if not basic.startswith("Basic "):
            client = clients.get(form.get("client_id"))
            return form.get("client_id") if client and not client.get("client_secret") else None
        name, _, secret = base64.b64decode(basic[6:]).decode().partition(":")
        return name if clients.get(name, {}).get("client_secret") == secret else None

    def token(self, form):
        client = self.client_of(form)
        if not client or form.get("resource") != BASE + "/mcp":
            return self.answer(400, {"error": "invalid_client" if not client else "invalid_target"})
        seen.append(form["grant_type"])
        if MODE == "no_json":
            return self.answer(200, b"<html>hello</html>")
        if form["grant_type"] == "authorization_code":
            asked = codes.pop(form.get("code"), None)
            challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
            if not asked or asked["client_id"] != client or asked["redirect_uri"] != form.get("redirect_uri") \
                    or asked["code_challenge"] != challenge.decode().rstrip("="):
                return self.answer(400, {"error": "invalid_grant"})
            scope = asked.get("scope", "")
        else:
            # Good for once: a second use is a theft, and ends all tokens.
            scope = refresh.pop(form.get("refresh_token"), None)
            if scope is None:
                access.clear()
                refresh.clear()
                return self.answer(400, {"error": "invalid_grant", "error_description": "used twice"})
        token = fresh("access") + ("\r\nX-Evil: 1" if MODE == "injection" else "")
        access[token] = {"scope": scope, "calls": 0}
        given = {"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": scope}
        if MODE != "no_refresh":
            given["refresh_token"] = fresh("refresh")
            refresh[given["refresh_token"]] = scope
        self.answer(200, given)

    def serve(self, message):
        id, method = message.get("id"), message.get("method")
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        known = access.get(token)
        if known is None or MODE == "loop" or (known["calls"] and MODE in ("short", "no_refresh")):
            challenge = 'Bearer realm="x"'
            if MODE not in ("well_known", "old"):
                challenge += f', resource_metadata="{BASE}/.well-known/oauth-protected-resource"'
            return self.answer(401, {"error": "login"}, WWW_Authenticate=challenge)
        if method == "initialize":
            return self.answer(200, {"jsonrpc": "2.0", "id": id, "result": {
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "oauth", "version": "1"}}})
        if id is None:
            return self.answer(202)
        if method == "tools/list":
            return self.answer(200, {"jsonrpc": "2.0", "id": id, "result": {"tools": [
                {"name": "echo", "description": "Says the text again.", "inputSchema": TEXT}]}})
        if MODE == "scope" and "tools:write" not in known["scope"]:
            return self.answer(403, {"error": "scope"},
                               WWW_Authenticate='Bearer error="insufficient_scope", scope="tools:read tools:write"')
        known["calls"] += 1
        self.answer(200, {"jsonrpc": "2.0", "id": id, "result": {
            "content": [{"type": "text", "text": message["params"]["arguments"].get("text", "")}]}})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
BASE = f"http://127.0.0.1:{server.server_port}"
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
