# LeNet-5 for 28x28 grey images, NCHW. Weights: lenet5.safetensors, beside this file
# (conv1, conv2, fc1, fc2, fc3, each with .weight and .bias; all f32).
adept 1

# A block owns weights. Its params are looked up under the path given by `at`:
# Dense(...) at "fc1" reads fc1.weight and fc1.bias.
block Dense[In](x: [..., In] f32, out: int) -> [..., out] f32 {
    param weight : [out, In] f32                # [out_features, in_features]
    param bias   : [out] f32
    return linear(x, weight, bias)
}

block Conv5x5[N, C, H, W](x: [N, C, H, W] f32, out: int, pad: int = 0)
        -> [N, out, H + 2 * pad - 4, W + 2 * pad - 4] f32 {
    param weight : [out, C, 5, 5] f32           # [out, in, kernel height, kernel width]
    param bias   : [out] f32
    return conv2d(x, weight, bias, padding=pad)
}

model lenet5 {
    dim N in 1..=1024

    input image : [N, 1, 28, 28] f32            # grey levels scaled to 0..1

    x = tanh(Conv5x5(image, out=6, pad=2) at "conv1")       # [N,  6, 28, 28]
    x = avg_pool2d(x, kernel_size=2)                        # [N,  6, 14, 14]
    x = tanh(Conv5x5(x, out=16) at "conv2")                 # [N, 16, 10, 10]
    x = avg_pool2d(x, kernel_size=2)                        # [N, 16,  5,  5]

    f : [N, 400] f32 = flatten(x, start_dim=1)              # the annotation is checked
    f = tanh(Dense(f, out=120) at "fc1")
    f = tanh(Dense(f, out=84)  at "fc2")

    output logits : [N, 10] f32 = Dense(f, out=10) at "fc3"
    output probs  : [N, 10] f32 = softmax(logits)
    output label  : [N] i32     = argmax(logits, axis=-1)
}
