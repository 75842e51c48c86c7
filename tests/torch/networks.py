"""Small networks as people write them in PyTorch."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; make torch-test installs it")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402


def perceptron():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.LayerNorm(16), nn.Tanh(), nn.Linear(16, 10))


class Convolutional(nn.Module):
    def __init__(self, norm=nn.Identity, rate=0.0):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(1, 4, 3, padding=1), norm(4)
        self.conv2, self.norm2 = nn.Conv2d(4, 8, 3), norm(8)
        self.drop, self.head = nn.Dropout(rate), nn.Linear(32, 10)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.norm1(self.conv1(x))), 2)
        x = functional.relu(self.norm2(self.conv2(x)))
        return self.head(self.drop(x.flatten(1)))


class Sequence(nn.Module):
    """Symbols through an embedding and a recurrent layer."""

    def __init__(self, kind=nn.LSTM, **options):
        super().__init__()
        self.embedding = nn.Embedding(12, 5)
        self.recurrent = kind(5, 6, num_layers=2, batch_first=True, **options)
        self.head = nn.Linear(6, 10)

    def forward(self, x):
        return self.head(self.recurrent(self.embedding(x))[0][:, -1])


class Encoder(nn.Module):
    """A Transformer encoder over the rows of an image, with positions that are not trained."""

    def __init__(self, rate=0.0):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, rate, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.register_buffer("positions", torch.linspace(-1, 1, 64).reshape(8, 8))
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        return self.head(self.encoder(x.squeeze(1) + self.positions).mean(1))


def depthwise():
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1),
        nn.GroupNorm(2, 6),
        nn.GELU(),
        nn.Conv2d(6, 6, 3, stride=2, padding=1, groups=6),
        nn.SiLU(),
        nn.AdaptiveAvgPool2d((3, 2)),
        nn.Flatten(),
        nn.Linear(36, 10),
    )


class Residual(nn.Module):
    """The basic block of ResNet-18."""

    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.relu, self.downsample = nn.ReLU(inplace=True), None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        kept = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x))
        x += kept
        return self.relu(x)


class ResNet(nn.Module):
    """ResNet-18 in small widths."""

    def __init__(self, widths=(4, 6, 8, 8), classes=10, channels=3):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, widths[0], 7, 2, 3, bias=False), nn.BatchNorm2d(widths[0])
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        pairs = zip((widths[0], *widths), widths, (1, 2, 2, 2), strict=False)
        for number, (inputs, outputs, stride) in enumerate(pairs, 1):
            blocks = Residual(inputs, outputs, stride), Residual(outputs, outputs)
            setattr(self, f"layer{number}", nn.Sequential(*blocks))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(widths[-1], classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class Inverted(nn.Module):
    """The inverted residual block of MobileNetV2."""

    def __init__(self, inputs, outputs, stride, expand):
        super().__init__()
        wide, layers = inputs * expand, []
        if expand != 1:
            layers += [nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(inplace=True)]
        layers += [nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide)]
        layers += [nn.ReLU6(inplace=True), nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.conv, self.residual = nn.Sequential(*layers), stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.conv(x) if self.residual else self.conv(x)


def mobile_net(classes=10, channels=3):
    return nn.Sequential(
        nn.Conv2d(channels, 4, 3, 2, 1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU6(inplace=True),
        Inverted(4, 4, 1, 1),
        Inverted(4, 6, 2, 3),
        Inverted(6, 6, 1, 3),
        nn.Conv2d(6, 12, 1, bias=False),
        nn.BatchNorm2d(12),
        nn.ReLU6(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.0),
        nn.Linear(12, classes),
    )


class Dense(nn.Module):
    """A dense block with its transition, as DenseNet has them, and a gate, as EfficientNet has one."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.grow = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(4 + 2 * i), nn.SiLU(), nn.Conv2d(4 + 2 * i, 2, 3, padding=1))
            for i in range(2)
        )
        self.squeeze, self.excite = nn.Conv2d(8, 2, 1), nn.Conv2d(2, 8, 1)
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        found = [self.stem(x)]
        for layer in self.grow:
            found.append(layer(torch.cat(found, 1)))
        h = torch.cat(found, 1)
        h = h * torch.sigmoid(
            self.excite(functional.silu(self.squeeze(functional.adaptive_avg_pool2d(h, 1))))
        )
        return self.head(functional.avg_pool2d(h, 2).amax((2, 3)))


class UNet(nn.Module):
    """Down, up by a transposed convolution and by interpolation, and across."""

    def __init__(self):
        super().__init__()
        self.down, self.deep = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 6, 3, padding=1)
        self.up, self.join = nn.ConvTranspose2d(6, 4, 2, 2), nn.Conv2d(14, 10, 1)

    def forward(self, x):
        here = functional.leaky_relu(self.down(x))
        deep = functional.elu(self.deep(functional.max_pool2d(here, 2)))
        smooth = functional.interpolate(deep, scale_factor=2, mode="bilinear", align_corners=False)
        return self.join(torch.cat([here, self.up(deep), smooth], 1)).mean((2, 3))


IMAGE, COLOR, WINDOW = (8, 8, 1), (16, 16, 3), (7,)
NETWORKS = {
    "perceptron with layer normalization": (perceptron, IMAGE),
    "convolutions": (Convolutional, IMAGE),
    "convolutions with batch normalization": (lambda: Convolutional(nn.BatchNorm2d), IMAGE),
    "LSTM": (Sequence, WINDOW),
    "GRU": (lambda: Sequence(nn.GRU), WINDOW),
    "Transformer encoder": (Encoder, IMAGE),
    "depthwise": (depthwise, IMAGE),
    "ResNet-18": (ResNet, COLOR),
    "MobileNetV2": (mobile_net, COLOR),
    "DenseNet and EfficientNet": (Dense, COLOR),
    "U-Net": (UNet, COLOR),
}


def rows_for(shape, count=6, seed=0):
    """Rows as a federation has them, and labels."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 10, (count,), generator=generator).numpy()
    if shape == WINDOW:
        return torch.randint(0, 12, (count, *shape), generator=generator).numpy().astype("int32"), labels
    return torch.randn((count, *shape), generator=generator).numpy(), labels


def as_read(x):
    """The same rows for PyTorch."""
    rows = torch.from_numpy(x)
    if rows.ndim == 4:
        return rows.permute(0, 3, 1, 2).contiguous()
    return rows if rows.is_floating_point() else rows.long()
