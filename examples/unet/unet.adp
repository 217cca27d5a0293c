# U-Net (Ronneberger et al., 2015) with padded convolutions and batch norms, for images [N, channels, H, W] of
# any size: classes' scores for each pixel. Weight names: inc, down1.., up1.., outc, double_conv, as its common
# PyTorch form has them.
adept 1

const T        = f32           # activations; -D T=f16
const F        = f32           # dtype of the weight file
const channels = 3
const classes  = 2
const width    = 32            # channels of the first level; each level down has twice as many
const H        = 128           # image size, at least 16
const W        = 128

dim N in 1..=16

block Conv3x3[B, C, h, w](x: [B, C, h, w] T, out: int) -> [B, out, h, w] T {
    param weight : [out, C, 3, 3] T as F
    return conv2d(x, weight, padding=1)
}

block BatchNorm[B, C, h, w](x: [B, C, h, w] T) -> [B, C, h, w] T {
    param weight       : [C] T as F
    param bias         : [C] T as F
    param running_mean : [C] T as F
    param running_var  : [C] T as F
    return batch_norm(x, running_mean, running_var, weight, bias)
}

block DoubleConv[B, C, h, w](x: [B, C, h, w] T, out: int) -> [B, out, h, w] T {
    x = relu(BatchNorm(Conv3x3(x, out=out) at "double_conv.0") at "double_conv.1")
    return relu(BatchNorm(Conv3x3(x, out=out) at "double_conv.3") at "double_conv.4")
}

block Down[B, C, h, w](x: [B, C, h, w] T, out: int) -> [B, out, h // 2, w // 2] T {
    return DoubleConv(max_pool2d(x, 2), out=out) at "maxpool_conv.1"
}

block Upsample[B, C, h, w](x: [B, C, h, w] T) -> [B, C // 2, 2 * h, 2 * w] T {
    param weight : [C, C // 2, 2, 2] T as F
    param bias   : [C // 2] T as F
    return conv_transpose2d(x, weight, bias, stride=2)
}

# Twice as large, padded to the size of `skip` (odd sizes lost a row or column on the way down), joined with it.
block Up[B, C, h, w, S, y, z](x: [B, C, h, w] T, skip: [B, S, y, z] T) -> [B, C // 2, y, z] T {
    x = Upsample(x) at "up"
    x = pad(x, [[0, 0], [0, 0], [(y - 2 * h) // 2, y - 2 * h - (y - 2 * h) // 2],
                [(z - 2 * w) // 2, z - 2 * w - (z - 2 * w) // 2]])
    return DoubleConv(concat([skip, x], axis=1), out=C // 2) at "conv"
}

block Scores[B, C, h, w](x: [B, C, h, w] T) -> [B, classes, h, w] T {
    param weight : [classes, C, 1, 1] T as F
    param bias   : [classes] T as F
    return conv2d(x, weight, bias)
}

model unet {
    input image : [N, channels, H, W] T

    x1 = DoubleConv(image, out=width) at "inc"
    x2 = Down(x1, out=2 * width) at "down1"
    x3 = Down(x2, out=4 * width) at "down2"
    x4 = Down(x3, out=8 * width) at "down3"
    x5 = Down(x4, out=16 * width) at "down4"
    x = Up(x5, x4) at "up1"
    x = Up(x, x3) at "up2"
    x = Up(x, x2) at "up3"
    x = Up(x, x1) at "up4"
    output scores : [N, classes, H, W] T = Scores(x) at "outc.conv"
}
