"""All kinds of --data files: formats that trainers write must be recognised, all others rejected with a reason."""

import gzip
import io
import json
import struct
import zipfile

from attacks.outcome import Outcome, Setting

POINT = ("bench --model custom --d-model 16 --d-ff 32 --num-layers 1 --num-heads 2 --context 8 --batch 2 --device roofline:h100 "
         "--steps 1 --store none --output json --columns all").split()
SIZES = {"uint16": "H", "uint32": "I", "int32": "i", "int64": "q"}


def packed(tokens: list[int], kind: str) -> bytes:
    return struct.pack(f"<{len(tokens)}{SIZES[kind]}", *tokens)


def llmc(tokens: list[int], kind: str, magic: int = 0) -> bytes:
    known, version = (20240520, 1) if kind == "uint16" else (20240801, 7)
    return struct.pack("<256i", magic or known, version, len(tokens), *[0] * 253) + packed(tokens, kind)


def npy(tokens: list[int], kind: str) -> bytes:
    descr = {"uint16": "<u2", "uint32": "<u4", "int32": "<i4", "int64": "<i8"}[kind]
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({len(tokens)},), }}".encode()
    header = header.ljust((len(header) + 10 + 64) // 64 * 64 - 11) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + packed(tokens, kind)


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", content)
    return file.getvalue()


def safetensors(content: bytes) -> bytes:
    header = json.dumps({"w": {"dtype": "U8", "shape": [len(content)], "data_offsets": [0, len(content)]}}).encode()
    return struct.pack("<Q", len(header)) + header + content


def tokens_of(random, vocab: int) -> list[int]:
    """Returns tokens in which low values are more frequent, as in a tokenizer's output."""
    return [int(random.random() ** 2 * vocab) for _ in range(random.randint(200, 5000))]


def readable(random) -> tuple[str, bytes, int, list[str], str]:
    """Returns the name, content and vocabulary of a file, further options, and the format and type that must be recognised."""
    form = random.choice(("llmc", "npy", "raw", "bytes"))
    if form == "bytes":
        text = "".join(random.choices("etaoin shrdlu\n", k=500)).encode()
        return random.choice(("a.txt", "a", "a.bin")), text, 256, [], "bytes uint8"
    kind = random.choice(("uint16", "uint32") if form != "npy" else tuple(SIZES))
    vocab = random.choice((100, 5000, 50257) if kind == "uint16" else (100, 50257, 128256, 151936))
    tokens = tokens_of(random, vocab)
    if form == "llmc":
        return random.choice(("a.bin", "a.txt", "a")), llmc(tokens, kind), vocab, [], f"llmc {kind}"
    if form == "npy":
        return random.choice(("a.npy", "a.bin", "a")), npy(tokens, kind), vocab, [], f"npy {kind}"
    stated = random.random() < 0.5
    return "a.bin" if not stated else random.choice(("a.bin", "tokens")), packed(tokens, kind), vocab, \
        ["--data-format", kind] if stated else [], f"{kind} {kind}"


def refused(random) -> tuple[str, bytes, int, list[str], str]:
    """Returns the name, content and vocabulary of a file, further options, and a part of the expected error."""
    tokens = tokens_of(random, 50257)
    raw = packed(tokens, "uint16")
    weights = struct.pack(f"<{len(tokens)}f", *(random.gauss(0, 0.02) for _ in tokens))
    kinds = [
        (gzip.compress(raw), "gzip"), (zipped(raw), "zip"), (safetensors(raw), "safetensors"),
        (b"PAR1" + raw, "parquet"), (llmc(tokens, "uint16", 20240522), "evaluation"),
        (llmc(tokens, "uint16", 20240326), "checkpoint"), (llmc(tokens, "uint16", 20240328), "tokenizer"),
        (json.dumps({"model_type": "gpt2", "n_embd": 768}).encode(), "describes a model"),
        (json.dumps({"weight_map": {}}).encode(), "describes a model"), (weights, "numbers"),
        (packed(tokens, "int64"), "64-bit"), (b"\x80\x02}q\x00." + raw[:1] + b".", "pickle"),
        ("Ein Text für alle".encode("utf-16"), "UTF-16"), (llmc(tokens, "uint16")[: 1024 + len(tokens)], "states"),
        (npy(tokens, "uint16")[:-2], "numpy header"), (llmc([*tokens, 60000], "uint16"), "not in the vocabulary"),
        (npy([*tokens, -100], "int64"), "negative"), (packed([*tokens, 2**31], "uint32"), "not in the vocabulary"),
    ]
    content, says = random.choice(kinds)
    return random.choice(("a.bin", "a.bin", "shard_000.bin")), content, 50257, [], says


def data_files(setting: Setting) -> list[Outcome]:
    read = Outcome("token files of every format")
    others = Outcome("files that hold no tokens")
    for _ in range(60):
        for outcome, make in ((read, readable), (others, refused)):
            name, content, vocab, more, expected = make(setting.random)
            (setting.folder / name).write_bytes(content)
            done = setting.run(*POINT, "--vocab", vocab, "--data", name, *more)
            outcome.tries += 1
            if outcome is others:
                if done.returncode != 2 or expected not in done.stderr:
                    outcome.problems.append(f"{name}, {expected}: exit code {done.returncode}: {done.stderr[-300:]}")
                continue
            data = json.loads(done.stdout)[0]["data"] if done.returncode == 0 else {}
            if f"{data.get('format')} {data.get('type')}" != expected:
                outcome.problems.append(f"{name}, {expected}: {data}: {done.stderr[-300:]}")
    return [read, others]
