#!/usr/bin/env python3
"""Adept and PyTorch in turn on the same card: one table, CSV, one SVG chart.

usage: compare.py ADEPT [--only GROUP,..] [--quick] [--device D] [--csv FILE] [--svg FILE] [--dry]

Groups: gemm linear conv attention rows nets decoder (default: all), and reach: the cases that the
project has goals for, in one run of a few minutes. --quick: a few cases of each.
--dry: tiny shapes and no PyTorch, to see that the driver and Adept understand each other.

Both sides are timed the same way: GPU timestamps around several launches (200 us at least; 1 ms of
PyTorch's, which are replayed from a CUDA graph, so that the replay does not count), operands rotated
over sets that no cache holds, after 0.3 s of warm-up the least of three medians of 21 stretches. The
decoder's peer is transformers, eager. ratio: Adept's rate by PyTorch's; for nets, time by time. err:
RMS difference by RMS result against f64, for both. A peer that is missing is said to be.
"""
import argparse
import csv
import io
import math
import os
import re
import signal
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SET_BYTES = 256 << 20
SAMPLES = 21
WARM_UP = (0.3e6, 0.08e6, 0.08e6)  # microseconds before each median

try:
    import torch
    PEER = None if torch.cuda.is_available() else "PyTorch is here, but sees no CUDA device"
except ImportError:
    torch = None
    PEER = "PyTorch is not installed"

SQUARES = [(n, n, n) for n in (256, 512, 1024, 2048, 4096, 8192)]
QWEN = [(m, n, k) for m in (1, 8, 16, 64, 128, 512, 2048)
        for n, k in ((4096, 4096), (11008, 4096), (4096, 11008))]
CONV = [(n, c, hw, o, k, s) for n in (1, 16, 64)
        for c, hw, o, k, s in ((3, 224, 64, 7, 2), (64, 56, 64, 3, 1), (128, 28, 128, 3, 1),
                               (256, 14, 256, 3, 1), (512, 7, 512, 3, 1), (64, 56, 256, 1, 1))]
# batch, heads, queries, head size; heads of keys, keys, causal
ATTENTION = [(1, 32, 512, 128, 32, 512, False), (1, 32, 2048, 128, 32, 2048, False),
             (1, 32, 2048, 128, 32, 2048, True), (1, 28, 4096, 128, 4, 4096, False),
             (1, 28, 4096, 128, 4, 4096, True), (1, 32, 2048, 64, 32, 2048, False),
             (8, 12, 256, 64, 12, 256, False), (1, 28, 1, 128, 4, 4096, False)]
ATTENTION_REACH = ATTENTION[1:5] + ATTENTION[-1:]  # those with goals
VISION = [("resnet50", "resnet50/resnet50.adp", (1, 32)),
          ("mobilenet_v2", "mobilenet/mobilenet_v2.adp", (1, 32)),
          ("mobilenet_v3_large", "mobilenet/mobilenet_v3.adp", (1, 32)),
          ("vit_b_16", "vit/vit.adp", (1, 32))]
ROWS = ("map", "slice", "softmax", "layer_norm", "rms_norm", "transpose", "transpose_map")
PEER_MODES = {"f32": ("fp32", "tf32"), "f16": ("fp16",), "bf16": ("bf16",), "i8": ("int8",)}


def join(shape):
    return "x".join(str(n) for n in shape)


# ---- Adept -------------------------------------------------------------------------------------

class Adept:
    def __init__(self, program, device):
        self.program, self.device = program, ["--device", device] if device else []

    def bench(self, op, dtype, shapes, *options):
        """{shape: (us, error, schedule)}; what failed is told and left out."""
        command = [self.program, "bench", op, "--csv", "--dtype", dtype, "--shape",
                   ",".join(join(s) for s in shapes), *options, *self.device]
        done = subprocess.run(command, capture_output=True, text=True)
        for line in done.stderr.splitlines():
            print("  " + line)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        found = {}
        for row in rows:
            for shape in shapes:
                if join(shape) in row["case"].split():
                    found[shape] = (float(row["us"]), float(row["error"]), row["schedule"])
        return found

    def net(self, model, *options):
        """Microseconds of one run on the device, or None."""
        done = subprocess.run([self.program, "bench", model, *options, *self.device],
                              capture_output=True, text=True)
        match = re.search(r"run on the device: median ([0-9.]+) us", done.stdout)
        if not match:
            print("  " + done.stderr.strip().replace("\n", "\n  "))
        return float(match.group(1)) if match else None


# ---- PyTorch -----------------------------------------------------------------------------------

def torch_dtype(mode):
    return {"fp16": torch.float16, "bf16": torch.bfloat16, "int8": torch.int8}.get(
        mode, torch.float32)


def torch_mode(mode):
    torch.backends.cuda.matmul.allow_tf32 = mode == "tf32"
    torch.backends.cudnn.allow_tf32 = mode == "tf32"


def sets_for(bytes_of_one, warm=False):
    return 1 if warm else max(1, min(64, math.ceil(SET_BYTES / bytes_of_one)))


def elapsed(graph):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3


def capture(calls):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        calls[0]()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    return graph


def peer_time(calls):
    """Microseconds of one call; `calls` are the same work on different operands."""
    for call in calls[:3]:
        call()
    torch.cuda.synchronize()
    one = capture(calls[:1])
    elapsed(one)
    repeats = max(1, min(2000, math.ceil(1000 / max(elapsed(one), 0.5))))
    graphs = [capture([calls[i % len(calls)] for i in range(repeats)])]
    if repeats < len(calls):  # so that all sets are used
        graphs = [capture([calls[(g * repeats + i) % len(calls)] for i in range(repeats)])
                  for g in range(min(math.ceil(len(calls) / repeats), SAMPLES))]
    medians, at = [], 0
    for warm_up in WARM_UP:
        spent = 0
        while spent < warm_up:
            spent += elapsed(graphs[at % len(graphs)])
            at += 1
        times = [elapsed(graphs[i % len(graphs)]) / repeats for i in range(SAMPLES)]
        medians.append(statistics.median(times))
    return min(medians)


def relative(out, wanted):
    wanted = wanted.double()
    return ((out.double() - wanted).norm() / wanted.norm()).item()


def random(shape, dtype):
    if dtype == torch.int8:
        return torch.randint(-127, 128, shape, device="cuda", dtype=dtype)
    return torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype)


def peer_matmul(shape, mode, warm=False, epilogue="none"):
    m, n, k = shape
    dtype = torch_dtype(mode)
    torch_mode(mode)
    functional = torch.nn.functional
    size = torch.empty((), dtype=dtype).element_size()
    count = sets_for((m * k + n * k + m * n) * size, warm)
    a = [random((m, k), dtype) for _ in range(count)]
    b = [random((n, k), dtype) for _ in range(count)]
    bias = random((n,), dtype) if epilogue.startswith("bias") else None
    other = [random((n, k) if epilogue == "gate" else (m, n), dtype) for _ in range(count)] \
        if epilogue in ("gate", "bias_residual") else None
    if mode == "int8":
        work = lambda x, w, o: torch._int_mm(x, w.t())
    else:
        work = {"none": lambda x, w, o: functional.linear(x, w),
                "bias": lambda x, w, o: functional.linear(x, w, bias),
                "bias_gelu": lambda x, w, o: functional.gelu(functional.linear(x, w, bias)),
                "bias_residual": lambda x, w, o: functional.linear(x, w, bias) + o,
                "gate": lambda x, w, o: functional.silu(functional.linear(x, w)) *
                                        functional.linear(x, o)}[epilogue]
    us = peer_time([lambda i=i: work(a[i], b[i], other and other[i]) for i in range(count)])
    if epilogue != "none":
        return us, None
    rows = slice(0, 16)
    return us, relative(work(a[0], b[0], None)[rows], a[0][rows].double() @ b[0].double().t())


def peer_conv(shape, mode, last=False):
    n, c, hw, o, k, s = shape
    dtype = torch_dtype(mode)
    torch_mode(mode)
    torch.backends.cudnn.benchmark = True
    size = torch.empty((), dtype=dtype).element_size()
    count = sets_for((n * c * hw * hw + o * c * k * k + n * o * (hw // s) ** 2) * size)
    x = [random((n, c, hw, hw), dtype) for _ in range(count)]
    w = [(random((o, c, k, k), torch.float32) / (c * k * k) ** 0.5).to(dtype)
         for _ in range(count)]
    conv = torch.nn.functional.conv2d
    if last:  # channels last
        x, w = ([t.to(memory_format=torch.channels_last) for t in list] for list in (x, w))
    calls = [lambda i=i: conv(x[i], w[i], stride=s, padding=k // 2) for i in range(count)]
    us = peer_time(calls)
    return us, relative(calls[0]()[:1], conv(x[0][:1].double(), w[0].double(), stride=s,
                                             padding=k // 2))


def peer_attention(shape, mode):
    b, h, s, d, kv, keys, causal = shape
    dtype = torch_dtype(mode)
    count = sets_for((b * h * s * d * 2 + b * kv * keys * d * 2) * 2)
    q = [random((b, h, s, d), dtype) for _ in range(count)]
    k = [random((b, kv, keys, d), dtype) for _ in range(count)]
    v = [random((b, kv, keys, d), dtype) for _ in range(count)]
    attention = torch.nn.functional.scaled_dot_product_attention
    calls = [lambda i=i: attention(q[i], k[i], v[i], is_causal=causal, enable_gqa=kv != h)
             for i in range(count)]
    us = peer_time(calls)
    small = slice(0, 1)
    wanted = attention(q[0][:, small].double(), k[0][:, small].double(), v[0][:, small].double(),
                       is_causal=causal)
    return us, relative(calls[0]()[:, small], wanted)


def peer_rows(op, shape, mode):
    dtype = torch_dtype(mode)
    functional = torch.nn.functional
    size = torch.empty((), dtype=dtype).element_size()
    count = sets_for(2 * shape[0] * shape[1] * size)
    x = [random(shape, dtype) for _ in range(count)]
    w, bias = random((shape[1],), dtype), random((shape[1],), dtype)
    work = {"map": lambda v, *a: torch.relu(v + 1),
            "softmax": lambda v, *a: functional.softmax(v, -1),
            "layer_norm": lambda v, w, b: functional.layer_norm(v, shape[1:], w, b),
            "rms_norm": lambda v, w, b: functional.rms_norm(v, shape[1:], w, 1e-5),
            "slice": lambda v, *a: v[:, ::2].contiguous(),
            "transpose_map": lambda v, w, b: torch.relu(v.t() + x[0]),
            "transpose": lambda v, *a: v.t().contiguous()}[op]
    us = peer_time([lambda i=i: work(x[i], w, bias) for i in range(count)])
    if op == "transpose_map":
        return us, None
    some = x[0][:64]
    return us, relative(work(some, w, bias), work(some.double(), w.double(), bias.double()))


def peer_lenet(batch):
    nn = torch.nn
    torch_mode("fp32")
    net = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2),
                        nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(),
                        nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(),
                        nn.Linear(84, 10)).cuda().eval()
    x = torch.randn(batch, 1, 28, 28, device="cuda")
    return peer_time([lambda: net(x)]), None


def peer_vision(name, batch):
    """A net of torchvision in f16: channels last, and as it is; the faster."""
    import torchvision
    torch_mode("fp16")
    torch.backends.cudnn.benchmark = True
    net = getattr(torchvision.models, name)().cuda().half().eval()
    x = torch.randn(batch, 3, 224, 224, device="cuda", dtype=torch.float16)
    us = [peer_time([lambda: net(x)])]
    net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    us.append(peer_time([lambda: net(x)]))
    return min(us), None


def make_qwen():
    from transformers import Qwen2Config, Qwen2ForCausalLM
    config = Qwen2Config(vocab_size=152064, hidden_size=3584, intermediate_size=18944,
                         num_hidden_layers=28, num_attention_heads=28, num_key_value_heads=4,
                         max_position_embeddings=4096, tie_word_embeddings=False)
    torch.set_default_dtype(torch.float16)
    with torch.device("cuda"):
        net = Qwen2ForCausalLM(config).eval()
    torch.set_default_dtype(torch.float32)
    return net


def peer_qwen(net, tokens, past):
    """Microseconds of one eager call: a prompt of so many tokens, or one more after `past`."""
    ids = lambda count: torch.randint(0, 100, (1, count), device="cuda")
    times = []
    cache = net(ids(past), use_cache=True, logits_to_keep=1).past_key_values if past else None
    for _ in range(24):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        net(ids(tokens), past_key_values=cache, use_cache=True, logits_to_keep=1)
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return statistics.median(times[3:]), None


# ---- the table ---------------------------------------------------------------------------------

class Table:
    COLUMNS = ("group", "case", "mode", "us", "figure", "unit", "error", "peer_mode", "peer_us",
               "peer_figure", "peer_error", "ratio", "schedule")

    def __init__(self, csv_path=None):
        """Rows go to csv_path as they come, so that a run that is stopped leaves what it has."""
        self.rows = []
        self.file = open(csv_path, "w", newline="") if csv_path else None
        self.write(self.COLUMNS)
        print("%-34s %-5s %10s %9s %8s | %-5s %10s %9s %8s | %6s" % (
            "case", "mode", "us", "", "err", "peer", "us", "", "err", "ratio"))

    def add(self, group, case, mode, ours, work, unit, peer_mode="", peer=None):
        us, error, schedule = ours if ours else (None, None, "")
        rate = work / us if us else None
        peer_us, peer_error = peer if peer else (None, None)
        peer_rate = work / peer_us if peer_us else None
        ratio = None
        if us and peer_us:
            ratio = us / peer_us if unit == "time" else peer_us / us
        text = lambda value, form: form % value if value is not None else "-"
        print("%-34s %-5s %10s %9s %8s | %-5s %10s %9s %8s | %6s" % (
            case, mode, text(us, "%.2f"), text(rate, "%.2f") if unit != "time" else "",
            text(error, "%.1e"), peer_mode, text(peer_us, "%.2f"),
            text(peer_rate, "%.2f") if unit != "time" else "", text(peer_error, "%.1e"),
            text(ratio, "%.3f")), flush=True)
        self.rows.append((group, case, mode, us, rate, unit, error, peer_mode, peer_us, peer_rate,
                          peer_error, ratio, schedule))
        self.write(self.rows[-1])

    def write(self, row):
        if self.file:
            csv.writer(self.file).writerow(["" if v is None else "%.6g" % v if isinstance(v, float)
                                            else v for v in row])
            self.file.flush()

    def series(self):
        """{label: [(size, TFLOP/s)]} of the square products, without epilogue, operands rotated."""
        found = {}
        for row in self.rows:
            words = row[1].split()
            sizes = words[1].split("x") if len(words) > 1 else []
            if row[0] not in ("gemm", "linear") or len(set(sizes)) != 1 or len(sizes) != 3 or \
                    words[2:] not in ([], ["fast"]):
                continue
            ours = " ".join(["Adept", row[2]] + words[2:])
            for label, rate in ((ours, row[4]), ("PyTorch " + row[7], row[9])):
                if rate is not None and (int(sizes[0]), rate) not in found.get(label, []):
                    found.setdefault(label, []).append((int(sizes[0]), rate))
        return found

    def write_svg(self, path):
        series = self.series()
        if not series:
            print("no square products, no chart")
            return
        try:
            import matplotlib
            matplotlib.use("svg")
            from matplotlib import pyplot
        except ImportError:
            with open(path, "w") as file:
                file.write(plain_svg(series))
            return
        figure, axes = pyplot.subplots(figsize=(9, 5))
        for label, points in sorted(series.items()):
            points.sort()
            axes.plot([p[0] for p in points], [p[1] for p in points], marker="o", label=label,
                      linestyle="-" if label.startswith("Adept") else "--")
        axes.set(xscale="log", yscale="log", xlabel="M = N = K", ylabel="TFLOP/s")
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.grid(True, which="both", alpha=0.3)
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
        axes.set_xticks(sorted({p[0] for points in series.values() for p in points}))
        axes.xaxis.set_minor_formatter("")
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


COLOURS = ("#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f")


def plain_svg(series):
    """The chart without matplotlib: both axes logarithmic."""
    width, height, left, top = 760, 460, 60, 20
    sizes = sorted({p[0] for points in series.values() for p in points})
    rates = [max(p[1], 1e-4) for points in series.values() for p in points]
    low, high = math.floor(math.log10(min(rates))), math.ceil(math.log10(max(rates)))
    high = max(high, low + 1)
    span = max(math.log2(sizes[-1] / sizes[0]), 1)
    x = lambda size: left + (width - left - 170) * math.log2(size / sizes[0]) / span
    y = lambda rate: top + (height - top - 50) * (high - math.log10(max(rate, 1e-4))) / (high - low)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" '
           'font-size="12"><rect width="100%%" height="100%%" fill="white"/>' % (width, height)]
    for power in range(low, high + 1):
        out.append('<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g'
                   '</text>' % (left, y(10 ** power), width - 170, left - 6, y(10 ** power) + 4,
                                10 ** power))
    for size in sizes:
        out.append('<text x="%.1f" y="%d" text-anchor="middle">%d</text>' % (
            x(size), height - 30, size))
    out.append('<text x="%d" y="%d" text-anchor="middle">M = N = K</text>' % (
        (width - 110) // 2, height - 10))
    out.append('<text x="14" y="%d" transform="rotate(-90 14 %d)">TFLOP/s</text>' % (
        height // 2, height // 2))
    for i, (label, points) in enumerate(sorted(series.items())):
        colour, dash = COLOURS[i % len(COLOURS)], "" if label.startswith("Adept") else "5 4"
        path = " ".join("%.1f,%.1f" % (x(p[0]), y(p[1])) for p in sorted(points))
        out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="2" '
                   'stroke-dasharray="%s"/>' % (path, colour, dash))
        out.append('<text x="%d" y="%d" fill="%s">%s</text>' % (
            width - 160, top + 16 + 18 * i, colour, label))
    return "\n".join(out) + "\n</svg>\n"


# ---- groups ------------------------------------------------------------------------------------

def peer(work, *arguments):
    """(us, error), or None after a line that says why."""
    if PEER:
        return None
    try:
        with torch.no_grad():
            result = work(*arguments)
        torch.cuda.empty_cache()
        return result
    except Exception as error:  # told, never hidden
        print("  PyTorch: %s" % str(error).splitlines()[0][:150])
        return None


def products(table, adept, group, dtype, shapes, *options, modes=None, note="", warm=False,
             epilogue="none"):
    """`note` tells this case from others of the same shape in the table."""
    options += ("--warm",) * warm + (("--epilogue", epilogue) if epilogue != "none" else ())
    ours = adept.bench(group, dtype, shapes, *options)
    for shape in shapes:
        work = 2e-6 * shape[0] * shape[1] * shape[2] * (2 if epilogue == "gate" else 1)
        for mode in modes or PEER_MODES[dtype]:
            name = " ".join(filter(None, (group, join(shape), note, "warm" * warm)))
            table.add(group, name, dtype, ours.get(shape), work, "TFLOP/s", mode,
                      peer(peer_matmul, shape, mode, warm, epilogue))


def gemm(table, adept, size):
    shapes = SQUARES + [(512, 1024, 1024)]
    if size == "quick":
        shapes = [s for s in shapes if s[0] not in (256, 8192)]
    if size == "dry":
        shapes = [(32, 32, 32), (64, 64, 64)]
    for dtype in ("f32", "f16") if size != "full" else ("f32", "f16", "bf16", "i8"):
        products(table, adept, "gemm", dtype, shapes)


def linear(table, adept, size):
    shapes = {"full": QWEN, "dry": [(4, 32, 64)],
              "quick": [(1, 4096, 4096), (1, 11008, 4096), (16, 4096, 4096), (128, 4096, 4096),
                        (512, 11008, 4096)]}[size]
    products(table, adept, "linear", "f16", shapes)


def convolutions(table, adept, dtype, shapes, modes, last=False):
    group = "conv_nhwc" if last else "conv"
    ours = adept.bench(group, dtype, shapes)
    for shape in shapes:
        n, c, hw, o, k, s = shape
        work = 2e-6 * n * o * (hw // s) ** 2 * c * k * k
        for mode in modes:
            table.add("conv", "%s %s" % (group, join(shape)), dtype, ours.get(shape), work,
                      "TFLOP/s", mode, peer(peer_conv, shape, mode, last))


def conv(table, adept, size):
    shapes = {"full": CONV, "dry": [(1, 3, 8, 4, 3, 1)],
              "quick": [(64, 64, 56, 64, 3, 1), (64, 128, 28, 128, 3, 1)]}[size]
    for dtype in ("f32", "f16") if size == "full" else ("f32",):
        convolutions(table, adept, dtype, shapes, PEER_MODES[dtype])


def attention(table, adept, size):
    shapes = {"full": ATTENTION, "dry": [(1, 2, 4, 16, 2, 4, True)], "quick": ATTENTION[1:4:2],
              "reach": ATTENTION_REACH}
    for shape in shapes[size]:
        b, h, s, d, kv, keys, causal = shape
        options = ["--kv-heads", str(kv), "--keys", str(keys)] + ["--causal"] * causal
        ours = adept.bench("attention", "f16", [shape[:4]], *options)
        work = 4e-6 * b * h * s * d * (keys - (s - 1) / 2 if causal else keys)
        name = "attention %s kv%d s%d%s" % (join(shape[:4]), kv, keys, " causal" * causal)
        table.add("attention", name, "f16", ours.get(shape[:4]), work, "TFLOP/s", "fp16",
                  peer(peer_attention, shape, "fp16"))


def rows(table, adept, size):
    shape = (8, 64) if size == "dry" else (8192, 8192)
    moved = {"slice": 1.5, "transpose_map": 3}  # of the input's bytes; else in and out
    for op in ROWS:
        ours = adept.bench(op, "f16", [shape])
        table.add("rows", "%s %s" % (op, join(shape)), "f16", ours.get(shape),
                  moved.get(op, 2) * shape[0] * shape[1] * 2e-3, "GB/s", "fp16",
                  peer(peer_rows, op, shape, "fp16"))


def add_net(table, adept, name, mode, work, unit, found, peer_mode, model, *options):
    us = adept.net(os.path.join(HERE, "../../examples", model), *options)
    table.add("nets", name, mode, (us, None, "") if us else None, work, unit,
              peer_mode if found else "", found)


def nets(table, adept, size):
    weights = os.path.join(HERE, "../../examples/digits/lenet5.safetensors")
    for batch in (1,) if size == "dry" else (1, 64, 1024):
        add_net(table, adept, "lenet5 batch %d" % batch, "f32", batch, "time",
                peer(peer_lenet, batch), "graph", "digits/lenet5.adp", "-w", weights,
                "--dim", "N=%d" % batch)
    for name, model, batches in VISION:
        for batch in batches if size == "full" else batches[:size == "quick"]:
            add_net(table, adept, "%s batch %d" % (name, batch), "f16", batch, "time",
                    peer(peer_vision, name, batch), "graph", model, "--random-weights", "1",
                    "-D", "T=f16", "-D", "F=f16", "--dim", "N=%d" % batch)


QWEN_7B = [word for size in ("D=3584", "I=18944", "Hq=28", "Hkv=4", "vocab=152064", "tied=false",
                             "max_chunk=2048", "F=f16") for word in ("-D", size)]


def decoder(table, adept, size):
    """Qwen2-7B with random weights; tokens a second."""
    cases = {"full": ((512, 0), (2048, 0), (1, 512), (1, 4000)), "quick": ((1, 512),), "dry": (),
             "reach": ((512, 0), (2048, 0), (1, 512))}
    net = peer(make_qwen) if cases[size] else None
    for tokens, past in cases[size]:
        name = "qwen2-7b %s" % ("prefill %d" % tokens if tokens > 1 else "decode at %d" % past)
        found = peer(peer_qwen, net, tokens, past) if net else None
        add_net(table, adept, name, "f16", tokens * 1e6, "tok/s", found, "eager", "qwen2/qwen2.adp",
                "--random-weights", "1", *QWEN_7B, "--dim", "S=%d" % tokens, "--dim", "P=%d" % past)


def reach(table, adept, size):
    """The goals' cases. Weights are constants of a model, activations come as they are."""
    squares = [(n, n, n) for n in ((32, 48) if size == "dry" else (512, 1024, 2048, 4096, 8192))]
    small = [(16, 24, 32)] if size == "dry" else [(512, 1024, 1024)]
    products(table, adept, "linear", "f32", squares)
    products(table, adept, "linear", "f32", small, modes=["fp32"])
    products(table, adept, "linear", "f32", squares[-3:], "--math", "fast", modes=["fp32"],
             note="fast")
    products(table, adept, "linear", "f16", squares)
    products(table, adept, "linear", "bf16", squares)
    products(table, adept, "linear", "i8", squares[-2:])
    products(table, adept, "linear", "f16", small + squares[1:2], warm=True)
    for name in ("bias_gelu", "bias_residual", "gate"):
        products(table, adept, "linear", "f16", squares[3:4] or squares[:1], note=name,
                 epilogue=name)
    if size == "dry":
        return
    products(table, adept, "linear", "f16", [(4096, 8192, 4096)] + QWEN)
    products(table, adept, "linear", "f16", [(16, 4096, 4096), (128, 4096, 4096)], warm=True)
    convolutions(table, adept, "f32", [(64, 64, 56, 64, 3, 1), (64, 128, 28, 128, 3, 1),
                                       (64, 256, 14, 256, 3, 1)], ["fp32"])
    convolutions(table, adept, "f16", [(16, 128, 28, 128, 3, 1)], ["fp16"], last=True)
    attention(table, adept, "reach")
    rows(table, adept, size)
    nets(table, adept, "full")
    decoder(table, adept, "reach")


GROUPS = {"gemm": gemm, "linear": linear, "conv": conv, "attention": attention, "rows": rows,
          "nets": nets, "decoder": decoder, "reach": reach}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("adept")
    parser.add_argument("--only", default=",".join(name for name in GROUPS if name != "reach"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--device")
    parser.add_argument("--csv")
    parser.add_argument("--svg")
    given = parser.parse_args()
    size = "dry" if given.dry else "quick" if given.quick else "full"
    global PEER
    if given.dry and not PEER:
        PEER = "left out by --dry"
    print("peer: %s" % (PEER or "PyTorch %s on %s" % (torch.__version__,
                                                     torch.cuda.get_device_name(0))))
    wanted = given.only.split(",")
    if not set(wanted) <= set(GROUPS):
        parser.error("the groups are " + ", ".join(GROUPS))
    table = Table(given.csv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    try:
        for name in wanted:
            GROUPS[name](table, Adept(given.adept, given.device), size)
    finally:
        if given.svg:
            table.write_svg(given.svg)
    missing = sum(row[3] is None for row in table.rows)
    if missing:
        print("%d cases without a time of Adept's" % missing)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
