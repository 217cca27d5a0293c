# MobileNetV3 (Howard et al., 2019) for images [N, 3, H, W]: large, or with -D size=small the small one.
# Weight names are those of torchvision's state_dict, so its checkpoints load once saved as safetensors.
adept 1

const T       = f32            # activations; -D T=f16
const F       = f32            # dtype of the weight file
const size    = "large"
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
    return batch_norm(x, running_mean, running_var, weight, bias, eps=0.001)
}

block ConvBatchNorm[B, C, h, w](x: [B, C, h, w] T, out: int, kernel: int = 1, stride: int = 1, groups: int = 1)
        -> [B, out, (h - 1) // stride + 1, (w - 1) // stride + 1] T {
    return BatchNorm(Conv(x, out=out, kernel=kernel, stride=stride, groups=groups) at "0") at "1"
}

block BiasedConv[B, C](x: [B, C, 1, 1] T, out: int) -> [B, out, 1, 1] T {
    param weight : [out, C, 1, 1] T as F
    param bias   : [out] T as F
    return conv2d(x, weight, bias)
}

# Each channel times a factor that the means of all channels decide.
block SqueezeExcitation[B, C, h, w](x: [B, C, h, w] T, squeeze: int) -> [B, C, h, w] T {
    y = relu(BiasedConv(mean(x, axis=[2, 3], keepdims=true), out=squeeze) at "fc1")
    return x * hardsigmoid(BiasedConv(y, out=C) at "fc2")
}

fn activation(x: [...] T, name: str) -> [...] T {
    if name == "relu" {
        return relu(x)
    }
    return hardswish(x)
}

# 1x1 up to `expand` channels, depthwise, squeeze-and-excite (squeeze > 0), 1x1 down to `out`; the input is
# added where it fits.
block InvertedResidual[B, C, h, w](x: [B, C, h, w] T, kernel: int, expand: int, out: int, squeeze: int = 0,
                                   act: str = "hardswish", stride: int = 1)
        -> [B, out, (h - 1) // stride + 1, (w - 1) // stride + 1] T {
    if expand == C {
        y = ConvBatchNorm(x, out=C, kernel=kernel, stride=stride, groups=C) at "block.0"
        y = activation(y, name=act)
        if squeeze > 0 {
            y = SqueezeExcitation(y, squeeze=squeeze) at "block.1"
            y = ConvBatchNorm(y, out=out) at "block.2"
        } else {
            y = ConvBatchNorm(y, out=out) at "block.1"
        }
    } else {
        y = activation(ConvBatchNorm(x, out=expand) at "block.0", name=act)
        y = ConvBatchNorm(y, out=expand, kernel=kernel, stride=stride, groups=expand) at "block.1"
        y = activation(y, name=act)
        if squeeze > 0 {
            y = SqueezeExcitation(y, squeeze=squeeze) at "block.2"
            y = ConvBatchNorm(y, out=out) at "block.3"
        } else {
            y = ConvBatchNorm(y, out=out) at "block.2"
        }
    }
    if stride == 1 and C == out {
        return x + y
    }
    return y
}

block Linear[B, C](x: [B, C] T, out: int) -> [B, out] T {
    param weight : [out, C] T as F
    param bias   : [out] T as F
    return linear(x, weight, bias)
}

model mobilenet_v3 {
    input image : [N, 3, H, W] T               # normalised as the checkpoint expects

    x = hardswish(ConvBatchNorm(image, out=16, kernel=3, stride=2) at "features.0")
    if size == "large" {
        const hidden = 1280
        x = InvertedResidual(x, kernel=3, expand=16, out=16, act="relu") at "features.1"
        x = InvertedResidual(x, kernel=3, expand=64, out=24, act="relu", stride=2) at "features.2"
        x = InvertedResidual(x, kernel=3, expand=72, out=24, act="relu") at "features.3"
        x = InvertedResidual(x, kernel=5, expand=72, out=40, squeeze=24, act="relu", stride=2) at "features.4"
        repeat i in 5..7 {
            x = InvertedResidual(x, kernel=5, expand=120, out=40, squeeze=32, act="relu") at "features.{i}"
        }
        x = InvertedResidual(x, kernel=3, expand=240, out=80, stride=2) at "features.7"
        x = InvertedResidual(x, kernel=3, expand=200, out=80) at "features.8"
        repeat i in 9..11 {
            x = InvertedResidual(x, kernel=3, expand=184, out=80) at "features.{i}"
        }
        x = InvertedResidual(x, kernel=3, expand=480, out=112, squeeze=120) at "features.11"
        x = InvertedResidual(x, kernel=3, expand=672, out=112, squeeze=168) at "features.12"
        x = InvertedResidual(x, kernel=5, expand=672, out=160, squeeze=168, stride=2) at "features.13"
        repeat i in 14..16 {
            x = InvertedResidual(x, kernel=5, expand=960, out=160, squeeze=240) at "features.{i}"
        }
        x = hardswish(ConvBatchNorm(x, out=960) at "features.16")
    } else {
        const hidden = 1024
        x = InvertedResidual(x, kernel=3, expand=16, out=16, squeeze=8, act="relu", stride=2) at "features.1"
        x = InvertedResidual(x, kernel=3, expand=72, out=24, act="relu", stride=2) at "features.2"
        x = InvertedResidual(x, kernel=3, expand=88, out=24, act="relu") at "features.3"
        x = InvertedResidual(x, kernel=5, expand=96, out=40, squeeze=24, stride=2) at "features.4"
        repeat i in 5..7 {
            x = InvertedResidual(x, kernel=5, expand=240, out=40, squeeze=64) at "features.{i}"
        }
        x = InvertedResidual(x, kernel=5, expand=120, out=48, squeeze=32) at "features.7"
        x = InvertedResidual(x, kernel=5, expand=144, out=48, squeeze=40) at "features.8"
        x = InvertedResidual(x, kernel=5, expand=288, out=96, squeeze=72, stride=2) at "features.9"
        repeat i in 10..12 {
            x = InvertedResidual(x, kernel=5, expand=576, out=96, squeeze=144) at "features.{i}"
        }
        x = hardswish(ConvBatchNorm(x, out=576) at "features.12")
    }

    x = mean(x, axis=[2, 3])
    x = hardswish(Linear(x, out=hidden) at "classifier.0")
    output logits : [N, classes] T = Linear(x, out=classes) at "classifier.3"
}
