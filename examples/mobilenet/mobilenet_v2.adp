# MobileNetV2 (Sandler et al., 2018) for images [N, 3, H, W].
# Weight names are those of torchvision's state_dict, so its checkpoints load once saved as safetensors.
adept 1

const T       = f32            # activations; -D T=f16
const F       = f32            # dtype of the weight file
const classes = 1000
const H       = 224            # image size
const W       = 224

dim N in 1..=64

block Conv[B, C, h, w](x: [B, C, h, w] T, out: int, kernel: int = 1, stride: int = 1, groups: int = 1)
        -> [B, out, (h - 1) // stride + 1, (w - 1) // stride + 1] T {
    param weight : [out, C // groups, kernel, kernel] T as F
    return conv2d(x, weight, stride=stride, padding=(kernel - 1) // 2, groups=groups)
}

block BatchNorm[B, C, h, w](x: [B, C, h, w] T) -> [B, C, h, w] T {
    param weight       : [C] T as F
    param bias         : [C] T as F
    param running_mean : [C] T as F
    param running_var  : [C] T as F
    return batch_norm(x, running_mean, running_var, weight, bias)
}

block ConvBatchNormReLU6[B, C, h, w](x: [B, C, h, w] T, out: int, kernel: int = 1, stride: int = 1,
                                     groups: int = 1)
        -> [B, out, (h - 1) // stride + 1, (w - 1) // stride + 1] T {
    y = Conv(x, out=out, kernel=kernel, stride=stride, groups=groups) at "0"
    return clip(BatchNorm(y) at "1", min=0.0, max=6.0)
}

# 1x1 up to `expand` times the channels, depthwise 3x3, 1x1 down to `out`; the input is added where it fits.
block InvertedResidual[B, C, h, w](x: [B, C, h, w] T, out: int, expand: int = 6, stride: int = 1,
                                   shortcut: bool = true)
        -> [B, out, (h - 1) // stride + 1, (w - 1) // stride + 1] T {
    if expand == 1 {
        y = ConvBatchNormReLU6(x, out=C, kernel=3, stride=stride, groups=C) at "conv.0"
        y = BatchNorm(Conv(y, out=out) at "conv.1") at "conv.2"
    } else {
        y = ConvBatchNormReLU6(x, out=expand * C) at "conv.0"
        y = ConvBatchNormReLU6(y, out=expand * C, kernel=3, stride=stride, groups=expand * C) at "conv.1"
        y = BatchNorm(Conv(y, out=out) at "conv.2") at "conv.3"
    }
    if shortcut {
        return x + y
    }
    return y
}

block Linear[B, C](x: [B, C] T, out: int) -> [B, out] T {
    param weight : [out, C] T as F
    param bias   : [out] T as F
    return linear(x, weight, bias)
}

model mobilenet_v2 {
    input image : [N, 3, H, W] T               # normalised as the checkpoint expects

    x = ConvBatchNormReLU6(image, out=32, kernel=3, stride=2) at "features.0"
    x = InvertedResidual(x, out=16, expand=1, shortcut=false) at "features.1"
    x = InvertedResidual(x, out=24, stride=2, shortcut=false) at "features.2"
    x = InvertedResidual(x, out=24) at "features.3"
    x = InvertedResidual(x, out=32, stride=2, shortcut=false) at "features.4"
    repeat i in 5..7 {
        x = InvertedResidual(x, out=32) at "features.{i}"
    }
    x = InvertedResidual(x, out=64, stride=2, shortcut=false) at "features.7"
    repeat i in 8..11 {
        x = InvertedResidual(x, out=64) at "features.{i}"
    }
    x = InvertedResidual(x, out=96, shortcut=false) at "features.11"
    repeat i in 12..14 {
        x = InvertedResidual(x, out=96) at "features.{i}"
    }
    x = InvertedResidual(x, out=160, stride=2, shortcut=false) at "features.14"
    repeat i in 15..17 {
        x = InvertedResidual(x, out=160) at "features.{i}"
    }
    x = InvertedResidual(x, out=320, shortcut=false) at "features.17"
    x = ConvBatchNormReLU6(x, out=1280) at "features.18"

    x = mean(x, axis=[2, 3])
    output logits : [N, classes] T = Linear(x, out=classes) at "classifier.1"
}
