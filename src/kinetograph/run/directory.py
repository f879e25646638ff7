"""The directory of a run: its settings, the session files of its processes, and why some have none."""

from __future__ import annotations

import os

__all__ = ["SESSION_SUFFIX", "VARIABLE", "RunDirectory", "outer_run"]

VARIABLE = "KINETOGRAPH_RUN"
"""Names the directory to every Python that the program starts. `kinetograph.pth` reads it."""

SESSION_SUFFIX = ".kgsession"
_KERNEL_SUFFIX = ".kgkernels"
_SETTINGS = "run.json"
_REASON_SUFFIX = ".not-recorded"
_SUFFIXES = (SESSION_SUFFIX, _KERNEL_SUFFIX, _KERNEL_SUFFIX + ".part", _REASON_SUFFIX)


class RunDirectory:
    """Paths and small files only; it is loaded in every process that is recorded."""

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def exists(self) -> bool:
        """A daemon may outlive the run that started it, and so may the variable in its environment."""
        return os.path.isfile(os.path.join(self.path, _SETTINGS))

    def write_settings(self, text: str) -> None:
        with open(os.path.join(self.path, _SETTINGS), "w", encoding="utf-8") as file:
            file.write(text)

    def read_settings(self) -> str:
        with open(os.path.join(self.path, _SETTINGS), encoding="utf-8") as file:
            return file.read()

    def session_files(self) -> list[str]:
        """Also those of runs inside this run: their processes are processes of the program."""
        inner = [path for run in self._inner_runs() for path in run.session_files()]
        return self._names(SESSION_SUFFIX) + inner

    def kernel_file(self, pid: int) -> str:
        """Where a process leaves what its kernels recorded of themselves."""
        return os.path.join(self.path, f"{pid}{_KERNEL_SUFFIX}")

    def write_reason(self, reason: str) -> None:
        """Why this process is not recorded."""
        with open(os.path.join(self.path, f"{os.getpid()}{_REASON_SUFFIX}"), "w", encoding="utf-8") as file:
            file.write(reason)

    def reasons(self) -> dict[int, str]:
        """By pid."""
        found: dict[int, str] = {}
        for run in self._inner_runs():
            found |= run.reasons()
        for path in self._names(_REASON_SUFFIX):
            with open(path, encoding="utf-8", errors="replace") as file:
                found[int(os.path.basename(path).removesuffix(_REASON_SUFFIX))] = file.read()
        return found

    def remove_files(self, kept: set[str]) -> None:
        """Take away all files of a run but these, and the directory if none is left."""
        for run in self._inner_runs():
            run.remove_files(kept)
        for path in [path for suffix in _SUFFIXES for path in self._names(suffix)]:
            if path not in kept:
                os.unlink(path)
        if not any(os.path.exists(path) for path in kept if path.startswith(self.path + os.sep)):
            os.unlink(os.path.join(self.path, _SETTINGS))
            os.rmdir(self.path)

    def _inner_runs(self) -> list[RunDirectory]:
        folders = (RunDirectory(entry.path) for entry in os.scandir(self.path) if entry.is_dir())
        return [folder for folder in folders if folder.exists]

    def _names(self, suffix: str) -> list[str]:
        return sorted(
            os.path.join(self.path, name) for name in os.listdir(self.path) if name.endswith(suffix)
        )


def outer_run() -> RunDirectory | None:
    """That of the run which this process belongs to."""
    directory = RunDirectory(os.environ.get(VARIABLE, ""))
    return directory if directory.path and directory.exists else None
