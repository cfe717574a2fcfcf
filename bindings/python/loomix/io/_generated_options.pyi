# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate_ops.py from the operator table.
from collections.abc import Sequence
from typing import Literal, TypedDict

from numpy.typing import DTypeLike

from ..context import Context

class ImageRecordIterOptions(TypedDict, total=False):
    path_imglist: str
    path_imgrec: str
    path_imgidx: str
    data_shape: int | Sequence[int]
    preprocess_threads: int
    verbose: bool
    num_parts: int
    part_index: int
    shuffle_chunk_size: int
    shuffle_chunk_seed: int
    shuffle: bool
    seed: int
    batch_size: int
    round_batch: bool
    prefetch_buffer: int
    ctx: Context | str
    dtype: DTypeLike
    on_damage: Literal["raise", "skip"]
    aug_seq: Literal["aug_default"]
    label_width: int
    device_id: int
    seed_aug: int | None
    resize: int
    rand_crop: bool
    random_resized_crop: bool
    max_rotate_angle: int
    max_aspect_ratio: float
    min_aspect_ratio: float | None
    max_shear_ratio: float
    max_crop_size: int
    min_crop_size: int
    max_random_scale: float
    min_random_scale: float
    max_random_area: float
    min_random_area: float
    max_img_size: float
    min_img_size: float
    brightness: float
    contrast: float
    saturation: float
    pca_noise: float
    random_h: int
    random_s: int
    random_l: int
    rotate: int
    fill_value: int
    inter_method: int
    pad: int
    mirror: bool
    rand_mirror: bool
    mean_img: str
    mean_r: float
    mean_g: float
    mean_b: float
    mean_a: float
    std_r: float
    std_g: float
    std_b: float
    std_a: float
    scale: float
    max_random_contrast: float
    max_random_illumination: float

class ImageDetRecordIterOptions(TypedDict, total=False):
    path_imglist: str
    path_imgrec: str
    path_imgidx: str
    data_shape: int | Sequence[int]
    preprocess_threads: int
    verbose: bool
    num_parts: int
    part_index: int
    shuffle_chunk_size: int
    shuffle_chunk_seed: int
    shuffle: bool
    seed: int
    batch_size: int
    round_batch: bool
    prefetch_buffer: int
    ctx: Context | str
    dtype: DTypeLike
    on_damage: Literal["raise", "skip"]
    aug_seq: Literal["det_aug_default"]
    label_width: int
    label_pad_width: int
    label_pad_value: float
    resize: int
    rand_crop_prob: float
    min_crop_scales: Sequence[float]
    max_crop_scales: Sequence[float]
    min_crop_aspect_ratios: Sequence[float]
    max_crop_aspect_ratios: Sequence[float]
    min_crop_overlaps: Sequence[float]
    max_crop_overlaps: Sequence[float]
    min_crop_sample_coverages: Sequence[float]
    max_crop_sample_coverages: Sequence[float]
    min_crop_object_coverages: Sequence[float]
    max_crop_object_coverages: Sequence[float]
    num_crop_sampler: int
    crop_emit_mode: Literal["center", "overlap"]
    emit_overlap_thresh: float
    max_crop_trials: int | Sequence[int]
    rand_pad_prob: float
    max_pad_scale: float
    max_random_hue: int
    random_hue_prob: float
    max_random_saturation: int
    random_saturation_prob: float
    max_random_illumination: int
    random_illumination_prob: float
    max_random_contrast: float
    random_contrast_prob: float
    rand_mirror_prob: float
    fill_value: int
    inter_method: int
    resize_mode: Literal["fit", "force", "shrink"]
    mean_img: str
    mean_r: float
    mean_g: float
    mean_b: float
    mean_a: float
    std_r: float
    std_g: float
    std_b: float
    std_a: float
    scale: float
