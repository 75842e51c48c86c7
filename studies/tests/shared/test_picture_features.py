"""Are features of pictures what they are said to be, and blind to brightness?"""

import numpy as np
import pytest

from unalike_studies.shared import image_features


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).integers(60, 190, (12, 32, 32, 3)).astype(np.uint8)


def test_patches_do_not_see_brightness_and_hardly_see_contrast(images):
    plain = image_features.patches(images)
    assert np.abs(plain.mean(axis=-1)).max() < 1e-4
    assert np.allclose(plain, image_features.patches(images + np.uint8(20)), atol=1e-4)
    assert np.allclose(plain, image_features.patches(images / 2), atol=0.05)


def test_a_feature_is_the_mean_answer_of_a_filter_in_a_quarter(images):
    encode = image_features.Encoder.of(images, filters=5)
    features = encode(images) * encode.spread + encode.mean
    assert features.shape == (12, 2 * 2 * 10)
    picture, total = images[3].astype(np.float64), 0.0
    for row in range(0, 14, 2):  # the upper right quarter, the second filter with a minus
        for column in range(14, 28, 2):
            patch = picture[row : row + 6, column : column + 6].transpose(2, 0, 1).ravel()
            patch = (patch - patch.mean()) / np.sqrt(patch.var() + 10)
            total += max(0.0, -(patch - encode.center) @ encode.filters[:, 1] - 1) / 49
    assert features[3].reshape(2, 2, 10)[0, 1, 5 + 1] == pytest.approx(total, abs=1e-4)


def test_features_of_the_images_that_made_the_filters_are_standardized(images):
    features = image_features.Encoder.of(images, filters=5)(images)
    assert np.abs(features.mean(axis=0)).max() < 1e-4
    spread = features.std(axis=0)
    assert np.allclose(spread[spread > 0.5], 1, atol=1e-3)
