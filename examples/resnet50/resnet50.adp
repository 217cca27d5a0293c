# ResNet-50 (He et al., 2015, with the stride in the 3x3 convolution) for images [N, 3, H, W].
# Weight names are those of torchvision's state_dict, so its checkpoints load once saved as safetensors.
adept 1

const T       = f32            # activations; -D T=f16
const F       = f32            # dtype of the weight file
const classes = 1000
const H       = 224            # image size
const W       = 224

dim N in 1..=64

block Conv[B, C, h, w](x: [B, C, h, w] T, out: int, kernel: int, stride: int = 1)
        -> [B, out, (h - 1) // stride + 1, (w - 1) // stride + 1] T {
    param weight : [out, C, kernel, kernel] T as F
    return conv2d(x, weight, stride=stride, padding=(kernel - 1) // 2)
}

block BatchNorm[B, C, h, w](x: [B, C, h, w] T) -> [B, C, h, w] T {
    param weight       : [C] T as F
    param bias         : [C] T as F
    param running_mean : [C] T as F
    param running_var  : [C] T as F
    return batch_norm(x, running_mean, running_var, weight, bias)
}

# 1x1 down to `mid` channels, 3x3, 1x1 up to 4 * mid, and the input added.
block Bottleneck[B, C, h, w](x: [B, C, h, w] T, mid: int, stride: int = 1, project: bool = false)
        -> [B, 4 * mid, (h - 1) // stride + 1, (w - 1) // stride + 1] T {
    y = relu(BatchNorm(Conv(x, out=mid, kernel=1) at "conv1") at "bn1")
    y = relu(BatchNorm(Conv(y, out=mid, kernel=3, stride=stride) at "conv2") at "bn2")
    y = BatchNorm(Conv(y, out=4 * mid, kernel=1) at "conv3") at "bn3"
    if project {
        shortcut = BatchNorm(Conv(x, out=4 * mid, kernel=1, stride=stride) at "downsample.0") at "downsample.1"
        return relu(y + shortcut)
    }
    return relu(y + x)
}

block Linear[B, C](x: [B, C] T, out: int) -> [B, out] T {
    param weight : [out, C] T as F
    param bias   : [out] T as F
    return linear(x, weight, bias)
}

model resnet50 {
    input image : [N, 3, H, W] T               # normalised as the checkpoint expects

    x = relu(BatchNorm(Conv(image, out=64, kernel=7, stride=2) at "conv1") at "bn1")
    x = max_pool2d(x, kernel_size=3, stride=2, padding=1)

    x = Bottleneck(x, mid=64, project=true) at "layer1.0"
    repeat i in 1..3 {
        x = Bottleneck(x, mid=64) at "layer1.{i}"
    }
    x = Bottleneck(x, mid=128, stride=2, project=true) at "layer2.0"
    repeat i in 1..4 {
        x = Bottleneck(x, mid=128) at "layer2.{i}"
    }
    x = Bottleneck(x, mid=256, stride=2, project=true) at "layer3.0"
    repeat i in 1..6 {
        x = Bottleneck(x, mid=256) at "layer3.{i}"
    }
    x = Bottleneck(x, mid=512, stride=2, project=true) at "layer4.0"
    repeat i in 1..3 {
        x = Bottleneck(x, mid=512) at "layer4.{i}"
    }

    x = mean(x, axis=[2, 3])
    output logits : [N, classes] T = Linear(x, out=classes) at "fc"
}
