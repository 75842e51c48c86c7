"""Medical data sets that may not be shipped: access and checks.

The image sets of du Terrail et al., "FLamby: Datasets and Benchmarks for Cross-Silo Federated Learning in
Realistic Healthcare Settings", 2022. Everybody accepts each owner's terms and prepares the files themselves;
here they are read from `NAME.npz` with the arrays x, y and center, and every center's patients are counted.
Volumes whose voxels are to be labeled need a model that is not there, and are refused.

The published table says 239 and 150 slides of Camelyon16 but 399 in all; only the sum is compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import DataError
from ...typing import Array
from ..files.array_files import read_npz
from .files import reading, require_local
from .source import Source, source_registry

_ARRAYS = ("x", "y", "center")


@dataclass(frozen=True)
class MedicalData:
    """A data set with natural centers, and on which terms it may be used."""

    name: str
    what: str
    sizes: tuple[int, ...]
    total: int
    classes: int | None
    """None for volumes whose voxels are labeled."""
    where: str
    license: str

    @property
    def file(self) -> str:
        """The file that a user prepares."""
        return f"{self.name}.npz"


CAMELYON16 = MedicalData(
    "camelyon16", "slides with a tumour or not", (239, 150), 399, 2, "camelyon16.grand-challenge.org", "CC0"
)
ISIC2019 = MedicalData(
    "isic2019",
    "photographs of skin, eight classes",
    (12413, 3954, 3363, 2259, 819, 439),
    23247,
    8,
    "challenge.isic-archive.com/data",
    "CC BY-NC 4.0",
)
LIDC_IDRI = MedicalData(
    "lidc_idri", "lung nodules in CT", (670, 205, 69, 74), 1018, None, "cancerimagingarchive.net", "CC BY 3.0"
)
IXI = MedicalData(
    "ixi", "brain masks in MRI", (311, 181, 74), 566, None, "brain-development.org", "CC BY-SA 3.0"
)
KITS2019 = MedicalData(
    "kits2019",
    "kidneys and tumours in CT",
    (12, 14, 12, 12, 16, 30),
    96,
    None,
    "kits19.grand-challenge.org",
    "CC BY-NC-SA 4.0",
)
MEDICAL_DATA = {one.name: one for one in (CAMELYON16, ISIC2019, LIDC_IDRI, IXI, KITS2019)}


@source_registry.add("camelyon16")
def camelyon16() -> Source:
    """Histology slides of two hospitals, tumour or not; needs camelyon16.npz (features of slides), CC0."""
    return read_medical(CAMELYON16)


@source_registry.add("isic2019")
def isic2019() -> Source:
    """23,247 photographs of skin from six hospitals, 8 classes; needs isic2019.npz, CC BY-NC 4.0."""
    return read_medical(ISIC2019)


@source_registry.add("lidc_idri")
def lidc_idri() -> Source:
    """Lung nodules in CT by maker of the scanner: volumes to segment, for which there is no model here."""
    return read_medical(LIDC_IDRI)


@source_registry.add("ixi")
def ixi() -> Source:
    """Brain masks in MRI of three hospitals: volumes to segment, for which there is no model here."""
    return read_medical(IXI)


@source_registry.add("kits2019")
def kits2019() -> Source:
    """Kidneys in CT of six groups of hospitals: volumes to segment, for which there is no model here."""
    return read_medical(KITS2019)


def read_medical(data: MedicalData) -> Source:
    """The rows of a prepared file, if it has the published number of patients."""
    terms = f"{data.where}; license {data.license}"
    if data.classes is None:
        raise DataError(
            f"{data.name} ({data.what}; {terms}) labels voxels of volumes, for which there is no model yet; "
            "choose data with classes, such as isic2019 or heart_disease."
        )
    path = require_local(data.file, f"arrays x, y and center of {data.what}, prepared from {terms}")
    with reading(path, "arrays x, y and center"):
        arrays = read_npz(path, _ARRAYS)
        x, y, centers = (arrays[name] for name in _ARRAYS)
    check_centers(data, y.ravel(), centers.ravel())
    return Source(
        x,
        y.ravel().astype(np.int32),
        data.classes,
        owners=centers.ravel().astype(np.int64),
        owner_names=tuple(f"center {k + 1}" for k in range(len(data.sizes))),
        description=f"{data.name}, {data.what} ({data.license})",
    )


def check_centers(data: MedicalData, y: Array, centers: Array) -> None:
    """Raise where centers, patients or classes are not those that were published."""
    if len(y) != len(centers) or not len(y):
        raise DataError(f"{data.file} has {len(y)} labels but {len(centers)} centers; each row needs both.")
    if not (y.min() >= 0 and y.max() < (data.classes or 1)):
        raise DataError(f"labels of {data.file} must be 0 to {(data.classes or 1) - 1}.")
    if centers.min() < 0:
        raise DataError(f"centers of {data.file} are numbered from 0, but one is {centers.min()}.")
    counts = np.bincount(centers.astype(np.int64), minlength=len(data.sizes)).tolist()
    exact = sum(data.sizes) == data.total
    if len(counts) != len(data.sizes) or (counts != list(data.sizes) if exact else sum(counts) != data.total):
        said = ", ".join(map(str, data.sizes)) if exact else f"{data.total} in all"
        raise DataError(f"{data.file} has centers of {counts} rows; published are {said}.")
