"""Outputs that appear whole or not at all: files, folders, and who may write to a folder.

New content is written beside the old one, brought to the disk, and renamed into place. So a full
disk, an error, an interruption or a killed process leaves what was there before.
"""

from isotopic.atomic.files import atomic_file, check_folder_of, check_replaceable
from isotopic.atomic.folders import atomic_folder, claimed_folder, settle_folder
from isotopic.atomic.temporary import remove_leftovers, scratch_folder

__all__ = [
    "atomic_file",
    "atomic_folder",
    "check_folder_of",
    "check_replaceable",
    "claimed_folder",
    "remove_leftovers",
    "scratch_folder",
    "settle_folder",
]
