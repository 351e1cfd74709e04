#!/usr/bin/env python3
"""Writes the generated texts of this folder: secrets as people leave them in files and output, and
texts that look like some. One run writes all four files; the two `unseen` ones use another seed,
other names and other formats. They are for measuring: when rules have been written after reading
what they miss, move their lists to the seen ones and write new ones.

Usage: make_corpus.py [FOLDER]
"""
import base64
import json
import random
import string
import sys
import uuid

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
URL = ALNUM + "_-"
B64 = ALNUM + "+/"
MARK = "\u00a6"  # Removed before use: it keeps other scanners from finding the texts here.


class Writer:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def of(self, letters, count):
        return "".join(self.random.choice(letters) for _ in range(count))

    def between(self, letters, least, most):
        return self.of(letters, self.random.randint(least, most))

    def digits(self, count):
        return self.of(string.digits, count)

    def uuid(self):
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def jwt(self):
        def part(value):
            text = json.dumps(value, separators=(",", ":")).encode()
            return base64.urlsafe_b64encode(text).decode().rstrip("=")

        header = {"alg": self.random.choice(["HS256", "RS256", "ES256"]), "typ": "JWT"}
        payload = {"sub": self.digits(10), "iat": 1700000000 + self.random.randint(0, 10**7)}
        return f"{part(header)}.{part(payload)}.{self.of(URL, 43)}"

    def password(self):
        words = ["winter", "Harbor", "copper", "Falcon", "meadow", "Signal", "tiger", "Rocket"]
        forms = [
            lambda: self.between(ALNUM, 10, 18),
            lambda: self.random.choice(words) + "#" + self.digits(3) + self.of(ALNUM, 3),
            lambda: self.of(ALNUM, 6) + "!" + self.of(ALNUM, 4) + "$" + self.of(ALNUM, 2) + "9",
        ]
        return self.random.choice(forms)()


# How a value is given to a name. {n} is the name in snake case, {c} in camel case, {u} in capitals.
SEEN_SYNTAXES = [
    '{c}="{v}"', "{c} = '{v}'", "{c}={v}", "{c} = {v}", '{{\\n    "{n}": "{v}"\\n}}',
    "<{c}>{v}</{c}>", "<{c}>\\n    {v}\\n</{c}>", "{n}: {v}", "{n}: '{v}'", '{n}: "{v}"',
    "{n}: |\\n  {v}", "{n}: >\\n  {v}", 'var {c} string = "{v}"', '{c} := "{v}"', "{c} := `{v}`",
    'String {c} = "{v}";', '${c} .= "{v}"', '  "{c}" => "{v}"', '{u} ?= "{v}"', '{u} ::= "{v}"',
    '{u} += "{v}"', "{c},{v},", "export {u}={v}", "set {u}={v}", "--{n} {v}", "--{n}={v}",
    "https://api.corp.test/v1/items?{n}={v}&page=2", '<add key="{c}" value="{v}" />',
    '{{"name": "{n}", "value": "{v}"}}', "[DEBUG] Using {u}={v}", "{n} = \\\"{v}\\\"",
    'config["{n}"] = "{v}"', "X-{u}: {v}",
]
SEEN_SYNTAXES += [
    'val {c}: String = "{v}"', 'const char* {c} = "{v}";', 'let {n} = "{v}";', '{c}: "{v}",',
    "{u}='{v}' make deploy", "docker run -e {u}={v} image", "<entry key='{c}'>{v}</entry>",
    "<property name=\"{n}\" value=\"{v}\"/>", "set_{n}(\"{v}\")", "{n}=>'{v}'", "| {n} | {v} |",
    'define("{u}", "{v}");', "{n}:\\n  - {v}", "env: {{{u}: \"{v}\"}}", "@{c} = \"{v}\"",
    "{c}: @\"{v}\"", "-{c} \"{v}\"", "{n} \"{v}\";", "resource.{n} = \"{v}\"", "{u}: {v} # rotated",
    'headers = {{"{n}": "{v}"}}', "2031-04-05 12:00:01 WARN {c}={v} rejected",
]

SEEN_NAMES = [
    "api_key", "auth_token", "access_token", "client_secret", "secret_key", "private_token",
    "encryption_key", "app_secret", "service_token", "credentials", "signing_secret", "api_token",
    "adafruit_token", "algolia_api_key", "bittrex_secret_key", "codecov_token", "datadog_api_key",
    "dropbox_secret", "fastly_token", "finnhub_token", "gitter_token", "kraken_secret_key",
    "launchdarkly_token", "mailgun_key", "okta_token", "sidekiq_secret", "snyk_token", "trello_token",
]
SEEN_NAMES += [
    "upload_token", "master_key", "refresh_token", "webhook_secret", "account_key", "db_secret",
    "session_secret", "license_key", "consumer_secret", "bot_token", "deploy_key", "cookie_secret",
    "ipstack_token", "weatherbit_api_key", "zenscrape_token", "clockwork_secret", "moderation_key",
    "shutterstock_token", "printful_secret", "strava_token", "unsplash_access_key", "rudder_token",
]
SEEN_PASSWORDS = ["password", "db_password", "passwd", "smtp_password", "root_pwd", "user_pass"]
SEEN_PASSWORDS += ["admin_password", "passphrase", "keystore_password", "ldap_passwd", "ftp_pass"]

SEEN_VALUES = [
    lambda w: w.of(HEX, 32), lambda w: w.of(HEX, 40), lambda w: w.of(ALNUM, 32),
    lambda w: w.of(LOWER, 26), lambda w: w.of(B64, 43) + "=", lambda w: w.uuid(),
    lambda w: w.of(URL, 36), lambda w: w.of(ALNUM, 20), lambda w: w.of(UPPER, 24),
]
SEEN_VALUES += [
    lambda w: w.of(HEX, 64), lambda w: w.of(HEX, 24), lambda w: w.of(ALNUM, 44),
    lambda w: w.of(LOWER, 32), lambda w: w.of(B64, 86) + "==", lambda w: w.uuid(),
    lambda w: w.of(ALNUM, 17), lambda w: w.of(string.ascii_lowercase, 30),
    lambda w: w.of(ALNUM, 8) + "." + w.of(ALNUM, 24),
]

# Values that give themselves away, in a line without a name.
SEEN_FORMATS = [
    lambda w: "ghp_" + w.of(ALNUM, 36), lambda w: "AKIA" + w.of(UPPER, 16),
    lambda w: f"xoxb-{w.digits(8)}-{w.of(HEX, 18)}", lambda w: w.jwt(),
    lambda w: f"xoxp-{w.digits(6)}-{w.digits(6)}-{w.digits(6)}-{w.of(HEX, 18)}",
    lambda w: "sha256~" + w.of(URL, 43), lambda w: "hvs." + w.of(URL, 95),
    lambda w: "glpat-" + w.of(URL, 20), lambda w: "npm_" + w.of(ALNUM, 36),
    lambda w: "sk_live_" + w.of(ALNUM, 24), lambda w: "AKCp" + w.of(ALNUM, 69),
    lambda w: f"SG.{w.of(URL, 22)}.{w.of(URL, 43)}", lambda w: "AIza" + w.of(URL, 35),
    lambda w: "SK" + w.of(HEX, 32), lambda w: "oy2" + w.of(LOWER, 43),
    lambda w: "dop_v1_" + w.of(HEX, 64), lambda w: "shpat_" + w.of(HEX, 32),
]
SEEN_FORMATS += [
    lambda w: "ghs_" + w.of(ALNUM, 36), lambda w: "ASIA" + w.of(UPPER, 16),
    lambda w: f"xoxa-2-{w.digits(9)}-{w.of(HEX, 18)}", lambda w: w.jwt(),
    lambda w: f"xoxs-{w.digits(6)}-{w.digits(6)}-{w.digits(6)}-{w.of(HEX, 18)}",
    lambda w: "hf_" + w.of(string.ascii_letters, 34), lambda w: "PMAK-" + w.of(HEX, 24) + "-" + w.of(HEX, 34),
    lambda w: "glrt-" + w.of(URL, 20), lambda w: "pul-" + w.of(HEX, 40),
    lambda w: "rk_live_" + w.of(ALNUM, 24), lambda w: "sntrys_" + w.of(B64, 80),
    lambda w: "lin_api_" + w.of(ALNUM, 40), lambda w: "NRAK-" + w.of(UPPER, 27),
    lambda w: "whsec_" + w.of(B64, 32), lambda w: "dapi" + w.of(HEX, 32),
]

# Five of these syntaxes were read after their first measurement; the next author writes new lists.
UNSEEN_SYNTAXES = [
    'static final String {u} = "{v}";', "{n} = r'{v}'", 'let {c}: &str = "{v}";', "{u}={v};",
    "- name: {u}\\n  value: {v}", "ENV {u} {v}", "ARG {u}={v}", "{c}='{v}',", "{n}==\"{v}\"",
    "<{c} type='string'>{v}</{c}>", "<input name=\"{n}\" value=\"{v}\">", "{n} -> {v}", "[{n}] {v}",
    "INSERT INTO settings VALUES ('{n}', '{v}');", "Cookie: {n}={v}; Path=/", "{c} = new Secret('{v}')",
    "{{:{n} \"{v}\"}}", "{u}: !!str {v}", "\"{c}\":\"{v}\",\"x\":1", "$env:{u} = '{v}'",
    "echo {v} | docker login --{n}-stdin", "setx {u} {v}", "{n}\\t{v}",
]
UNSEEN_NAMES = [
    "ingest_token", "root_key", "id_token", "hook_secret", "storage_access_key", "jwt_secret",
    "cluster_secret", "signing_key", "oauth_token", "bearer_token", "vault_token", "hmac_key",
    "tomtom_api_key", "nasa_api_key", "coinlayer_token", "mesibo_token", "kairos_secret", "rebrandly_key",
]
UNSEEN_PASSWORDS = ["svc_password", "truststore_password", "mail_passwd", "sudo_pass", "vnc_pwd"]
UNSEEN_VALUES = [
    lambda w: w.of(HEX, 48), lambda w: w.of(HEX, 20), lambda w: w.of(ALNUM, 27), lambda w: w.of(URL, 64),
    lambda w: w.of(LOWER, 40), lambda w: w.of(B64, 63) + "=", lambda w: w.uuid(),
    lambda w: w.of(UPPER, 32), lambda w: w.of(string.ascii_letters, 24),
]
UNSEEN_FORMATS = [
    lambda w: "gho_" + w.of(ALNUM, 36), lambda w: "ABIA" + w.of(UPPER, 16), lambda w: w.jwt(),
    lambda w: f"xoxo-{w.digits(6)}-{w.of(HEX, 16)}", lambda w: f"xoxe.xoxb-1-{w.of(ALNUM, 160)}",
    lambda w: "sq0csp-" + w.of(URL, 43), lambda w: "sk-ant-api03-" + w.of(URL, 93) + "AA",
    lambda w: "shpss_" + w.of(HEX, 32), lambda w: "EZAK" + w.of(ALNUM, 54),
    lambda w: "rubygems_" + w.of(HEX, 48), lambda w: "tfp_" + w.of(URL, 59),
    lambda w: "glsa_" + w.of(ALNUM, 32) + "_" + w.of(HEX, 8), lambda w: "hvb." + w.of(URL, 150),
    lambda w: f"{w.digits(9)}:AA{w.of(URL, 33)}", lambda w: "ATATT3" + w.of(URL, 186),
]


def other_forms(w):
    """Forms that are neither an assignment nor a format of a vendor."""
    user, secret = w.of(string.ascii_lowercase, 6), w.password()
    plain = w.of(ALNUM, 18)
    pair = base64.b64encode(f"{user}:{plain}".encode()).decode()
    return [
        f"postgres://{user}:{plain}@db.corp.test:5432/app", f"curl -u {user}:{plain} https://ci.corp.test",
        f"curl -H 'Authorization: Bearer {w.of(ALNUM, 40)}' https://api.corp.test",
        f"Authorization: Basic {pair}", f"machine git.corp.test login {user} password {plain}",
        f"Server=db;User Id={user};Password={plain};",
        "apiVersion: v1\\nkind: Secret\\nmetadata:\\n  name: x\\ndata:\\n  "
        f"password: {base64.b64encode(plain.encode()).decode()}",
        f"//registry.corp.test/:_authToken={w.uuid()}", f"sshpass -p '{plain}' ssh {user}@host",
        f"PGPASSWORD={plain} psql -h db", f"mysql -u root -p{plain} shop",
        f"$ vault login {secret and 's.' + w.of(ALNUM, 24)}", f"the password is {w.of(ALNUM, 20)}",
    ]


def spelled(name, syntax, value):
    words = name.split("_")
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    return syntax.format(n=name, c=camel, u=name.upper(), v=value)


def marked(text):
    cut = len(text) // 2
    return text[:3] + MARK + text[3:cut] + MARK + text[cut:]


def secrets(w, names, passwords, values, formats, syntaxes, rounds):
    texts = []
    for _ in range(rounds):
        for syntax in syntaxes:
            texts.append(spelled(w.random.choice(names), syntax, w.random.choice(values)(w)))
        for _ in range(len(syntaxes) // 4):
            texts.append(spelled(w.random.choice(passwords), w.random.choice(syntaxes), w.password()))
        for form in formats:
            texts.append(w.random.choice(["{}", "found {} in the log", "- {}"]).format(form(w)))
        texts += other_forms(w)
    return texts


def honest(w, unseen):
    """Lines of tools and files with values that are random but no secret, or names without one."""
    h = lambda n: w.of(HEX, n)
    name = w.random.choice(["parser", "widget", "router", "editor", "planner"])
    version = f"{w.random.randint(0, 9)}.{w.random.randint(0, 30)}.{w.random.randint(0, 9)}"
    texts = [
        f"commit {h(40)}", f"   {h(7)}..{h(7)}  main -> main", f"{h(64)}  dist/{name}-{version}.tar.gz",
        f'"resolved": "https://registry.test/{name}/-/{name}-{version}.tgz#{h(40)}",',
        f'"integrity": "sha512-{w.of(B64, 86)}==",', f"test.org/{name} v{version} h1:{w.of(B64, 43)}=",
        f'checksum = "{h(64)}"', f"request_id={w.uuid()} status=200", f'"id": "{w.uuid()}"',
        f"Digest: sha256:{h(64)}", f"Cache key: {name}-linux-{h(32)}", f"etag: W/\"{h(32)}\"",
        f"max_tokens: {w.random.randint(100, 9000)}", "token = os.environ['TOKEN']", "API_KEY=$API_KEY",
        "password: ${DB_PASSWORD}", "api_key: <your-api-key>", f"public_key: {w.of(B64, 43)}=",
        "secretName: tls-certificate", "The token is refreshed every hour.", "key: build-and-test",
        f"gpg: key {h(16).upper()}: public key imported", f"SHA256:{w.of(B64, 43)} {name}@host (ED25519)",
        f"Set-Cookie: theme=dark; Path=/; Max-Age={w.digits(4)}", "token: ${{ secrets.GITHUB_TOKEN }}",
        f"primary_key: {w.uuid()}", f"session_timeout: {w.digits(4)}", "auth: none", "password = None",
        f"next_page_token: {w.of(URL, 40)}", f'<link rel="stylesheet" href="/app.{h(20)}.css">',
        f"{h(12)}   {name}:latest   \"/bin/server\"   2 hours ago", f"PASS src/{name}.test.ts ({w.digits(2)} ms)",
        'password = getpass.getpass("Password: ")', f"trace_id={h(32)} span_id={h(16)}",
    ]
    texts += [
        f"index {h(7)}..{h(7)} 100644", f"Author: Kim Roe <kim@{name}.test>", f"Change-Id: I{h(40)}",
            f"docker.io/{name}@sha256:{h(64)}", f"hash: {h(32)}", f"{name}-{version}.dist-info/RECORD,,",
            f"{name}/main.py,sha256={w.of(URL, 43)},{w.digits(4)}", f"  sha256: \"{h(64)}\"",
            f"partition_key: {w.of(ALNUM, 24)}", f"tokenizer: {name}-base-uncased", "secret: true",
            f"Build fingerprint: '{name}/{h(16)}:user/release-keys'", "keyring_backend: file",
            f"aws_access_key_id = ${{AWS_KEY}}", "--token \"$(cat token.txt)\"", "auth_token: nil,",
            f"uuid: {w.uuid()}", f"X-Request-Id: {w.uuid()}", f"correlation-id: {h(32)}",
            "keys: [left, right, enter]", "password_policy: at least 12 characters", f"ETag: \"{h(40)}\"",
            "export TOKEN=`cat /run/token`", "credentials: include", f"node_id: MDQ6{w.of(ALNUM, 20)}",
            f"blob {h(40)} {w.digits(4)}", "api_key = settings.api_key", "The secret was rotated.",
            f"pool key {name}-{version}-{h(8)}", f"nonce={h(24)}", "access_token_url: /oauth/token",
            f"[{w.digits(5)}.{w.digits(6)}] usb 1-1: SerialNumber: {h(16).upper()}", "key=value;other=thing",
    ]
    if unseen:
        texts = [
            f"From {h(40)} Mon Sep 17 00:00:00 2001", f"Signed-off-by: Kim Roe <kim@{name}.test>",
            f"sha256-{w.of(B64, 43)}=", f"  - {name}@{version}:", f"resolution: {{integrity: sha512-{w.of(B64, 86)}==}}",
            f"image: {name}@sha256:{h(64)}", f"Build ID: {w.uuid()}", f"\"nodeId\": \"{w.of(ALNUM, 22)}\"",
            f"Fingerprint: {':'.join(h(2).upper() for _ in range(20))}", f"dedupe_key: {h(32)}",
            f"tokens_used: {w.digits(5)}", "auth: required", "api_key: ${API_KEY}", "token: !vault |",
            "password: <redacted>", "--password-stdin", "secretRef: {name: db, key: password}",
            "The API key is read from the environment.", "secrets: inherit", "key_prefix: sessions/",
            f"cursor: {w.of(B64, 40)}", f"object key: images/{h(40)}.png", f"lock file hash {h(64)}",
            f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{w.of(B64, 43)} kim@host", f"Cache-Key: npm-{h(40)}",
            "client_secret: vault:secret/data/web#client", f"blockhash: {w.of(ALNUM, 44)}",
            f"commit {h(40)} (HEAD -> main, tag: v{version})", f"{w.uuid()} 200 GET /api/v1/tokens 12ms",
            f"key {name} already exists", "token expired; login again", f"ok {w.digits(2)} - auth {name}",
        ]
    return texts


def write(folder, name, about, texts, mark):
    with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
        file.write(about + "\n")
        for text in texts:
            file.write((marked(text) if mark else text).replace("\n", "\\n") + "\n")


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "tests/gate"
    about = "Written by make_corpus.py: {}."
    w = Writer(41)
    write(folder, "generated_secrets.txt", about.format("secrets, one a line"),
          secrets(w, SEEN_NAMES, SEEN_PASSWORDS, SEEN_VALUES, SEEN_FORMATS, SEEN_SYNTAXES, 3), True)
    write(folder, "generated_no_secrets.txt", about.format("no secrets, one text a line"),
          [text for _ in range(4) for text in honest(w, False)], False)
    w = Writer(2718)
    write(folder, "unseen_secrets.txt", about.format("secrets that no rule was written for"),
          secrets(w, UNSEEN_NAMES, UNSEEN_PASSWORDS, UNSEEN_VALUES, UNSEEN_FORMATS, UNSEEN_SYNTAXES, 3),
          True)
    write(folder, "unseen_no_secrets.txt", about.format("no secrets, and not looked at for the rules"),
          [text for _ in range(4) for text in honest(w, True)], False)


main()
