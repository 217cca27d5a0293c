#!/usr/bin/env python3
"""The example networks against torchvision's, with the same random weights, in f32 and f16.

usage: nets.py ADEPT [--only NET,..] [--device D] [--limit F32 F16]

Makes each net with random weights and statistics, saves its state_dict as safetensors under its own
names, runs both on random images and compares the outputs with PyTorch's in f64: the norm of the
difference by the norm of the result. Ends with 1 where that exceeds the limits (1e-5 and 5e-3).
Needs torch, torchvision and safetensors, and says so where one is missing.
"""
import argparse
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    import torchvision
    from safetensors.torch import save_file
    from torch import nn
except ImportError as missing:
    sys.exit("nets.py: %s is not installed" % missing.name)

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples")


class DoubleConv(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(channels, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(),
            nn.Conv2d(out, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU())

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(channels, out))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.up = nn.ConvTranspose2d(channels, channels // 2, 2, stride=2)
        self.conv = DoubleConv(channels, channels // 2)

    def forward(self, x, skip):
        x = self.up(x)
        y, z = skip.shape[2] - x.shape[2], skip.shape[3] - x.shape[3]
        x = nn.functional.pad(x, [z // 2, z - z // 2, y // 2, y - y // 2])
        return self.conv(torch.cat([skip, x], dim=1))


class OutConv(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv = nn.Conv2d(channels, classes, 1)

    def forward(self, x):
        return self.conv(x)


class UNet(nn.Module):
    def __init__(self, width=32, classes=2):
        super().__init__()
        self.inc = DoubleConv(3, width)
        self.down1, self.down2 = Down(width, 2 * width), Down(2 * width, 4 * width)
        self.down3, self.down4 = Down(4 * width, 8 * width), Down(8 * width, 16 * width)
        self.up1, self.up2 = Up(16 * width), Up(8 * width)
        self.up3, self.up4 = Up(4 * width), Up(2 * width)
        self.outc = OutConv(width, classes)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x4 = self.down3(x3)
        x = self.up1(self.down4(x4), x4)
        return self.outc(self.up4(self.up3(self.up2(x, x3), x2), x1))


MODELS = torchvision.models
IMAGES = ((1, 224, 224), (3, 224, 224), (2, 193, 257))
# name: net, model file, options, output, images, whether H and W are options
NETS = {
    "resnet50": (MODELS.resnet50, "resnet50/resnet50.adp", (), "logits", IMAGES, True),
    "mobilenet_v2": (MODELS.mobilenet_v2, "mobilenet/mobilenet_v2.adp", (), "logits", IMAGES, True),
    "mobilenet_v3_large": (MODELS.mobilenet_v3_large, "mobilenet/mobilenet_v3.adp", (), "logits",
                           IMAGES, True),
    "mobilenet_v3_small": (MODELS.mobilenet_v3_small, "mobilenet/mobilenet_v3.adp",
                           ("-D", "size=small"), "logits", IMAGES, True),
    "vit_b_16": (MODELS.vit_b_16, "vit/vit.adp", (), "logits", IMAGES[:2], False),
    "unet": (UNet, "unet/unet.adp", (), "scores", ((1, 128, 128), (3, 128, 128), (2, 99, 141)),
             True),
}


def randomise(net):
    """Statistics, shifts and a head that make every layer matter."""
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
            nn.init.uniform_(module.weight, 0.5, 1.0)
            nn.init.normal_(module.bias, 0, 0.1)
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, 0, module.in_features ** -0.5)
    return net


def compare(adept, name, dtype, image, folder, device):
    make, model, options, output, _, sized = NETS[name]
    kind = {"f32": torch.float32, "f16": torch.float16}[dtype]
    on = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    net = randomise(make()).eval()
    state = {key: value.to(kind).contiguous() for key, value in net.state_dict().items()
             if not key.endswith("num_batches_tracked")}
    weights, x, y = (os.path.join(folder, part) for part in ("w.safetensors", "x.npy", "y.npy"))
    save_file(state, weights)
    net.load_state_dict({key: value.double() for key, value in state.items()}, strict=False)
    net = net.double().to(on)
    batch, height, width = image
    pixels = torch.randn(batch, 3, height, width).to(kind)
    numpy.save(x, pixels.numpy())
    with torch.no_grad():
        wanted = net(pixels.double().to(on)).cpu().numpy()
    command = [adept, "run", os.path.join(EXAMPLES, model), "-D", "T=" + dtype, "-D", "F=" + dtype,
               *options, "-w", weights, "--in", "image=" + x, "--out", "%s=%s" % (output, y)]
    if sized:
        command += ["-D", "H=%d" % height, "-D", "W=%d" % width]
    if device:
        command += ["--device", device]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print("  " + done.stderr.strip().replace("\n", "\n  "))
        return float("inf")
    found = numpy.load(y).astype("f8")
    return numpy.linalg.norm(found - wanted) / numpy.linalg.norm(wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("adept")
    parser.add_argument("--only", default=",".join(NETS))
    parser.add_argument("--device")
    parser.add_argument("--limit", nargs=2, type=float, default=(1e-5, 5e-3))
    given = parser.parse_args()
    names = given.only.split(",")
    if not set(names) <= set(NETS):
        parser.error("the nets are " + ", ".join(NETS))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for dtype, limit in zip(("f32", "f16"), given.limit):
                for image in NETS[name][4]:
                    error = compare(given.adept, name, dtype, image, folder, given.device)
                    good = error <= limit
                    failed += not good
                    print("%-20s %s %3dx3x%dx%d  relative error %.2e%s" % (
                        name, dtype, *image, error, "" if good else "  above %g" % limit),
                        flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
