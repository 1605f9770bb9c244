"""Outputs that appear whole or not at all: files, folders, claims and leftovers."""

import errno
import json
import os
import signal
import socket
import stat
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from problems import random_counts
from processes import LIMIT, run_python, started_python
from scipy import sparse

import isotopic
from isotopic import NMF, archive
from isotopic.atomic import (
    atomic_file,
    atomic_folder,
    claimed_folder,
    folders,
    remove_leftovers,
    scratch_folder,
    settle_folder,
    system,
)
from isotopic.cli import main

NAMES = ["a", "b", "c"]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def write_all(folder, text, names=NAMES):
    with claimed_folder(folder, NAMES), atomic_folder(folder, NAMES) as new:
        for name in names:
            (new / name).write_text(text)


# Files


def write_half(path, error):
    with atomic_file(path) as file:
        file.write(b"half of")
        raise error


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    for error in (OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            write_half(path, error)
        assert contents(tmp_path) == {"file": b"old"}
    with pytest.raises(OSError, match="No space") as raised:
        write_half(path, OSError(errno.ENOSPC, "No space left on device"))
    assert raised.value.filename == str(path)  # the error says which file


def test_permissions_and_owner_of_a_replaced_file_are_kept(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o604)
    if os.getuid() == 0:
        os.chown(path, 12345, 12345)
    with atomic_file(path) as file:
        file.write(b"new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    assert os.getuid() != 0 or (path.stat().st_uid, path.stat().st_gid) == (12345, 12345)


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere/file")
    for text in (b"first", b"second"):  # the target is missing at first
        with atomic_file(tmp_path / "link") as file:
            file.write(text)
        assert (tmp_path / "link").is_symlink()
        assert contents(tmp_path / "elsewhere") == {"file": text}
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match="symbolic links"), atomic_file(tmp_path / "round"):
        pass


def test_what_is_no_file_is_not_replaced(rng, tmp_path):
    """A device would be gone for every process; opening a pipe would wait for ever."""
    X = random_counts(rng)
    model = NMF(2, max_iter=1, tol=0).fit(X)
    pipe, folder, null = tmp_path / "pipe", tmp_path / "folder", tmp_path / "null"
    os.mkfifo(pipe)
    folder.mkdir()
    null.symlink_to("/dev/null")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "socket"))
    for path in (pipe, folder, null, tmp_path / "socket", Path("/dev/null")):
        mode = path.stat().st_mode
        with pytest.raises(OSError, match=r"device|folder"):
            model.save(path)
        with pytest.raises(OSError, match=r"device|folder"):
            model.report(path, X, overwrite=True)
        with pytest.raises(OSError, match=r"device|folder"):
            NMF(2, max_iter=1, tol=0).fit(X, checkpoint=path)
        with pytest.raises((ValueError, IsADirectoryError)):
            isotopic.load(path)
        assert path.stat().st_mode == mode
    listening.close()


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path):
    path = tmp_path / "file"
    with pytest.raises(FileExistsError), atomic_file(path, overwrite=False):
        path.write_text("theirs")
    assert contents(tmp_path) == {"file": b"theirs"}


# Leftovers

HOLDS = """
import sys, time
from isotopic.atomic import atomic_file, scratch_folder
with atomic_file(sys.argv[1] + "/file") as file, scratch_folder(sys.argv[1]) as folder:
    file.write(b"half of")
    file.flush()
    (folder / "rows").write_text("many")
    print("ready", flush=True)
    time.sleep(300)
"""


def test_leftovers_of_a_killed_process_are_removed_and_no_others(tmp_path):
    others = [".isotopic-notes.tmp", ".isotopic-0123456789abcdef.txt", "isotopic.tmp", ".tmp"]
    for name in others:
        (tmp_path / name).touch()
    with started_python("-c", HOLDS, tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        made = set(os.listdir(tmp_path)) - set(others)
        assert len(made) == 2
        remove_leftovers(tmp_path)
        assert set(os.listdir(tmp_path)) == made | set(others)  # the process is alive
        process.send_signal(signal.SIGKILL)
        process.wait(LIMIT)
        assert set(os.listdir(tmp_path)) == made | set(others)
    with atomic_file(tmp_path / "file") as file:  # the next start
        file.write(b"new")
    assert set(os.listdir(tmp_path)) == {"file", *others}


def test_a_checkpoint_removes_what_a_killed_fit_left(rng, tmp_path):
    (tmp_path / ".isotopic-0123456789abcdef.tmp").touch()
    seen = []
    model = NMF(2, max_iter=1, tol=0, callbacks=lambda at: seen.append(os.listdir(tmp_path)))
    model.fit(random_counts(rng), checkpoint=tmp_path / "fit")
    assert seen[0] == []  # before anything is written
    assert os.listdir(tmp_path) == ["fit"]


def test_a_scratch_folder_is_private_and_goes_away(tmp_path):
    with scratch_folder(tmp_path) as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "rows").touch()
    assert os.listdir(tmp_path) == []


# Folders


def test_a_folder_is_replaced_as_a_whole_or_not_at_all(tmp_path):
    write_all(tmp_path, "old", "ac")
    (tmp_path / "notes").write_text("of the user")
    (tmp_path / "c").chmod(0o640)
    old = contents(tmp_path)
    with pytest.raises(TypeError):  # the second file cannot be written
        write_all(tmp_path, "new", ["a", None])
    assert contents(tmp_path) == old
    write_all(tmp_path, "new", "bc")  # what the new result does not have goes away
    assert contents(tmp_path) == {"b": b"new", "c": b"new", "notes": b"of the user"}
    write_all(tmp_path, "newer")
    assert sorted(os.listdir(tmp_path)) == sorted([*NAMES, "notes"])
    assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o640


@pytest.mark.parametrize("step", range(12))
def test_a_replacement_that_is_cut_off_is_completed(tmp_path, monkeypatch, step):
    """At whatever step it is cut off, a folder is all old or, once it is settled, all new."""
    write_all(tmp_path, "old", "abc")
    real, calls = {name: getattr(os, name) for name in ("replace", "unlink", "rename")}, []

    def cut_off(name):
        def call(*arguments, **options):
            calls.append(name)
            if len(calls) > step:
                raise KeyboardInterrupt
            return real[name](*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        for name in real:
            patch.setattr(os, name, cut_off(name))
        with suppress(KeyboardInterrupt):
            write_all(tmp_path, "new", "bc")
    whole = [{"a": b"old", "b": b"old", "c": b"old"}, {"b": b"new", "c": b"new"}]
    seen = {name: text for name, text in contents(tmp_path).items() if name in NAMES}
    assert "c" not in seen or seen in whole  # without the last file, it is known to be in parts
    settle_folder(tmp_path, NAMES)
    with claimed_folder(tmp_path, NAMES):
        pass
    assert contents(tmp_path) in whole
    assert len(os.listdir(tmp_path)) == len(contents(tmp_path))


def test_links_inside_of_a_folder_are_written_through(tmp_path):
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    (folder / "b").symlink_to(other)
    write_all(folder, "new")
    assert (folder / "b").is_symlink()
    assert other.read_text() == "new"


# Claims


def test_only_one_process_writes_to_a_folder(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from isotopic.atomic import claimed_folder\n"
        "with claimed_folder(Path(sys.argv[1]), ['a']): print('ready', flush=True); time.sleep(300)"
    )
    with started_python("-c", code, tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        with (
            pytest.raises(BlockingIOError, match=rf"Process {process.pid} on ") as raised,
            claimed_folder(tmp_path, NAMES),
        ):
            pass
        assert raised.value.filename == str(tmp_path)
    assert os.listdir(tmp_path) == [".isotopic-claim"]  # of a killed process
    with claimed_folder(tmp_path, NAMES):
        pass
    assert os.listdir(tmp_path) == []


def test_claims_never_overlap(tmp_path):
    """Also when the file of a claim is deleted while others open it."""
    folder, held = tmp_path / "folder", tmp_path / "held"
    folder.mkdir()

    def claim(_):
        while True:
            try:
                with claimed_folder(folder, NAMES):
                    held.mkdir()  # raises if it exists
                    held.rmdir()
            except BlockingIOError:
                continue
            return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(claim, range(100)))
    assert os.listdir(folder) == []


# The command line


@pytest.fixture
def counts(tmp_path):
    X = np.random.default_rng(0).poisson(1.0, size=(30, 12))
    pd.DataFrame(X, columns=[f"f{i}" for i in range(12)]).to_csv(tmp_path / "counts.csv")
    return str(tmp_path / "counts.csv")


def start_fit(counts, out, *options):
    fit = ["-m", "isotopic", "fit", counts, "-k", "3", "-o", out, "--no-report", *options]
    return started_python(*fit, stderr=subprocess.PIPE, text=True)


def test_two_fits_into_one_folder_do_not_mix(counts, tmp_path, capsys):
    """The second ends with an error that names the first; a killed one is not in the way."""
    out = tmp_path / "out"
    endless = ["--tol", "0", "--max-iter", "100000000"]
    with start_fit(counts, out, *endless) as first:
        while "iteration" not in first.stderr.readline():
            assert first.poll() is None
        for command in (["fit", counts, "-k", "2"], ["demo"], ["consensus", counts, "-k", "2"]):
            capsys.readouterr()
            assert main([*command, "-o", str(out), "--force"]) == 2
            assert f"Process {first.pid} on " in capsys.readouterr().err
        assert not (out / "manifest.json").exists()
    assert main(["fit", counts, "-k", "3", "-o", str(out), "--no-report"]) == 0
    assert ".isotopic-claim" not in os.listdir(out)


def test_a_report_waits_for_no_fit_that_replaces_its_folder(counts, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["fit", counts, "-k", "3", "-o", str(out), "--no-report"]) == 0
    with start_fit(counts, out, "--force", "--tol", "0", "--max-iter", "100000000") as fit:
        while "iteration" not in fit.stderr.readline():
            assert fit.poll() is None
        capsys.readouterr()
        assert main(["report", str(out)]) == 2
        assert f"Process {fit.pid} on " in capsys.readouterr().err
        assert main(["report", str(out), "-o", str(tmp_path / "beside.html")]) == 0
    assert not (out / "report.html").exists()
    assert main(["report", str(out)]) == 0


@pytest.mark.parametrize("both", [False, True], ids=["stderr", "stdout and stderr"])
def test_a_fit_goes_on_when_nobody_reads_its_messages(counts, tmp_path, both):
    """As in ``isotopic fit ... 2>&1 | head -1``: the results are in the folder, whoever listens."""
    out = tmp_path / "out"
    command = ["fit", counts, "-k", "3", "-o", str(out), "--tol", "0", "--max-iter", "300"]
    reading, writing = os.pipe()
    streams = {"stderr": writing, "stdout": writing if both else subprocess.PIPE}
    with started_python("-m", "isotopic", *command, **streams) as fit:
        os.close(writing)
        assert os.read(reading, 1)
        os.close(reading)
        if not both:
            assert b"Wrote" in fit.stdout.read()
        assert fit.wait(LIMIT) == (1 if both else 0)  # as of every command whose pipe is closed
    assert (out / "manifest.json").exists()
    assert isotopic.load(out / "model.isotopic").n_iter_ == 300


COMMANDS_ON_A_FULL_DISK = """
import json, os, resource, sys
sys.dont_write_bytecode = True  # or half a compiled module would stay in the source tree
from pathlib import Path
from isotopic.cli import main
commands, folders = json.loads(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))
for command in commands:
    code = main(command)
    files = [path for folder in folders for path in Path(folder).iterdir() if path.is_file()]
    print(json.dumps([code, {str(path): path.read_bytes().hex() for path in files}]))
"""


def test_a_full_disk_leaves_earlier_results_whole(tmp_path):
    """Files beyond a limit cannot be written: the same error handling as for a full disk."""
    rng = np.random.default_rng(0)
    small, large = tmp_path / "small.npz", tmp_path / "large.npz"
    sparse.save_npz(small, sparse.csr_array(rng.poisson(1.0, (20, 10))))
    sparse.save_npz(large, sparse.csr_array(rng.poisson(1.0, (4000, 10))))
    out, others, chosen = tmp_path / "out", tmp_path / "others", tmp_path / "chosen"
    others.mkdir()
    weights, page = others / "w.csv", others / "page.html"
    fast = ["--tol", "1e-2", "--force"]
    commands = [
        ["fit", small, "-k", "2", "-o", out, *fast],
        ["transform", out, small, "-o", weights],
        ["report", out, "-o", page],
        ["consensus", small, "-k", "2", "--runs", "2", "-o", chosen, *fast],
    ]
    assert [main(list(map(str, command))) for command in commands] == [0, 0, 0, 0]
    before = {str(p): p.read_bytes().hex() for f in (out, others, chosen) for p in f.iterdir()}
    commands = [
        ["fit", large, "-k", "2", "-o", out, *fast],
        ["convert", out, "--to", "PLSA", "-o", out, "--force"],
        ["transform", out, large, "-o", weights, "--force"],
        ["report", out, "-o", page, "--title", "other", "--force"],
        ["consensus", small, "-k", "2:3", "--runs", "2", "-o", chosen, *fast],
        ["demo", "-k", "2", "-o", out, "--force"],
    ]
    given = json.dumps([commands, [out, others, chosen]], default=str)
    run = run_python("-c", COMMANDS_ON_A_FULL_DISK, given)
    lines = [line for line in run.stdout.splitlines() if line.startswith("[")]
    assert len(lines) == len(commands)
    for command, line in zip(commands, lines, strict=True):
        code, files = json.loads(line)
        files.pop(str(out / "checkpoint.isotopic"), None)
        assert code == 2, command
        assert files == before, command
    errors = [line for line in run.stderr.splitlines() if line.startswith("isotopic: error")]
    assert len(errors) == len(commands)
    assert all("Cannot use " in line and "File too large" in line for line in errors), errors


@pytest.mark.skipif(os.getuid() != 0, reason="only an administrator can mount a small disk")
def test_a_disk_without_space_leaves_earlier_results_whole(rng, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this environment does not allow mounting")
    try:
        model = NMF(2, max_iter=1, tol=0).fit(random_counts(rng))
        model.save(disk / "model")
        before = contents(disk)
        large = NMF(15, max_iter=1, tol=0).fit(rng.poisson(1.0, (3000, 20)))
        with pytest.raises(OSError, match=r"No space left on device: '.*/model'"):
            large.save(disk / "model")
        assert contents(disk) == before
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_fit_replaces_the_whole_folder(counts, tmp_path, capsys):
    """No file of the earlier fit stays beside the new ones, and the user's files stay."""
    out = tmp_path / "out"
    assert main(["fit", counts, "-k", "3", "-o", str(out)]) == 0
    (out / "notes.txt").write_text("mine")
    assert main(["fit", counts, "-k", "2", "-o", str(out), "--no-report", "--force"]) == 0
    files = json.loads((out / "manifest.json").read_text())["files"]
    assert sorted(os.listdir(out)) == sorted([*files, "notes.txt"])
    assert "report.html" not in files


def test_a_fit_that_was_cut_off_while_it_was_written_is_read(counts, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    assert main(["fit", counts, "-k", "3", "-o", str(out)]) == 0
    with monkeypatch.context() as patch:
        patch.setattr(folders, "_move", lambda *_: os.kill(os.getpid(), signal.SIGINT))
        assert main(["fit", counts, "-k", "2", "-o", str(out), "--no-report", "--force"]) == 130
    capsys.readouterr()
    assert main(["info", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["components"] == 2
    assert not any(name.startswith(".") for name in os.listdir(out))


def test_readers_see_the_old_or_the_new_model(tmp_path):
    path = tmp_path / "model"
    archive.write(path, "model", "old")
    begin = time.monotonic()
    with atomic_file(path) as file:
        file.write(b"half of a model")
        file.flush()
        assert archive.read(path, "model", {}) == "old"
        assert time.monotonic() - begin < LIMIT


# Systems that rename no open files


def test_results_are_replaced_whole_where_open_files_cannot_be_renamed(tmp_path, monkeypatch):
    monkeypatch.setattr(system, "RENAMES_OPEN_FILES", False)
    path = tmp_path / "file"
    for text in (b"old\n", b"new\n"):
        with atomic_file(path) as file:
            file.write(text)
        assert contents(tmp_path) == {"file": text}
    with pytest.raises(OSError, match="No space"):
        write_half(path, OSError(errno.ENOSPC, "No space left on device"))
    assert contents(tmp_path) == {"file": b"new\n"}
    path.unlink()
    write_all(tmp_path, "old")
    with claimed_folder(tmp_path, NAMES), pytest.raises(BlockingIOError, match="has been writing"):
        write_all(tmp_path, "by another")
    write_all(tmp_path, "new", ["a", "c"])
    assert contents(tmp_path) == {"a": b"new", "c": b"new"}
    assert sorted(tmp_path.iterdir()) == [tmp_path / "a", tmp_path / "c"]


def test_the_renaming_waits_for_the_end_of_the_file_where_it_must(tmp_path, monkeypatch):
    opened = []

    def replace(source, target):
        opened.append(any(os.path.realpath(f"/proc/self/fd/{n}") == source for n in range(50)))
        rename(source, target)

    rename = os.replace
    monkeypatch.setattr(os, "replace", replace)
    for renames_open_files in (True, False):
        monkeypatch.setattr(system, "RENAMES_OPEN_FILES", renames_open_files)
        with atomic_file(tmp_path / "file") as file:
            file.write(b"new")
    if os.path.isdir("/proc/self/fd"):
        assert opened == [True, False]
