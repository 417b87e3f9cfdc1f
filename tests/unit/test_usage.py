"""What a process measures of itself: memory it has given back, processor time, helpers, a GPU."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from thinkprior.errors import InputError
from thinkprior.usage import Meter, Usage, read_usage, write_usage

linux = pytest.mark.skipif(sys.platform != "linux", reason="the peak can be set back on Linux only")


@linux
def test_memory_that_was_given_back_counts_and_what_was_before_does_not() -> None:
    before = bytearray(300 << 20)
    del before
    meter = Meter()
    start = meter.read().peak_memory_mib
    during = bytearray(200 << 20)
    del during
    grown = meter.read().peak_memory_mib - start
    assert 199 <= grown <= 210


def test_processor_time_of_work_counts_and_of_sleep_does_not() -> None:
    meter = Meter()
    began = time.process_time()
    while time.process_time() - began < 0.3:
        pass
    time.sleep(0.3)
    used = meter.read()
    assert 0.3 <= used.cpu_seconds < 0.5
    assert used.seconds >= 0.6


def test_a_helper_process_counts_once_it_has_ended() -> None:
    code = "import time\nx = bytearray(100 << 20)\nwhile time.process_time() < 0.3: pass"
    meter = Meter()
    subprocess.run([sys.executable, "-c", code], check=True)
    used = meter.read()
    assert used.cpu_seconds >= 0.3
    assert used.helper_memory_mib >= 100


def test_gpu_memory_is_the_fullest_devices_and_none_without_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allocated = [1 << 30, 3 << 30]
    cuda = SimpleNamespace(
        is_initialized=lambda: True,
        device_count=lambda: 2,
        max_memory_allocated=lambda device: allocated[device],
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert Meter().read().gpu_memory_mib == 3072.0
    cuda.is_initialized = lambda: False
    assert Meter().read().gpu_memory_mib is None
    monkeypatch.delitem(sys.modules, "torch")
    assert Meter().read().gpu_memory_mib is None


def test_usage_is_read_as_it_was_written(tmp_path: Path) -> None:
    used = Usage(1.5, 1.25, 300.5, 0.0, None)
    write_usage(tmp_path / "usage" / "job.json", used)
    assert read_usage(tmp_path / "usage" / "job.json") == used


@pytest.mark.parametrize("text", ['{"seconds": 1', '{"seconds": 1}', "[]"])
def test_another_file_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "job.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"job\.json: not the usage of a job"):
        read_usage(path)
