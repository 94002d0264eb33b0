"""Plugin and twin read the same vocabularies, and refuse the same."""

import pytest
from plugin_abi import LoadedPlugin

GOOD = [b"1\ta\n", b"1\ta", b"007\ta\n2147483647\tb\n", b"1\t\xff\n2\t\x00\n", b"3\tsupercalifragilistic\n1\ts\n"]
BAD = [
    b"",
    b"\n",
    b"1\ta\n\n",
    b"a\n",
    b"0\ta\n",
    b"-1\ta\n",
    b"+1\ta\n",
    b" 1\ta\n",
    b"1 \ta\n",
    b"1_0\ta\n",
    b"2147483648\ta\n",
    b"99999999999999999999\ta\n",
    b"\xd9\xa1\ta\n",
    b"1\t\n",
    b"1\ta b\n",
    b"1\ta\tb\n",
    b"1\ta\r\n",
    b"1\ta\x0b\n",
    b"\ta\n",
    b"1\ta\n2\ta\n",
    b"1\ta\n1\tb\n",
    b"\xef\xbb\xbf1\ta\n",
]


@pytest.mark.parametrize("lines", GOOD)
def test_good(plugin_dir, workloads, tmp_path, lines):
    path = tmp_path / "words.vocab"
    path.write_bytes(lines)
    LoadedPlugin(str(plugin_dir / "tokenize.so"), str(path).encode())
    workloads.Tokenize(path)


@pytest.mark.parametrize("lines", BAD)
def test_bad(plugin_dir, workloads, tmp_path, lines):
    path = tmp_path / "words.vocab"
    path.write_bytes(lines)
    with pytest.raises(ValueError, match="words.vocab"):
        LoadedPlugin(str(plugin_dir / "tokenize.so"), str(path).encode())
    with pytest.raises(ValueError, match="words.vocab"):
        workloads.Tokenize(path)


def test_unreadable(plugin_dir, workloads, tmp_path):
    for path, error in [(tmp_path / "none", FileNotFoundError), (tmp_path, IsADirectoryError)]:
        with pytest.raises(ValueError, match="directory"):
            LoadedPlugin(str(plugin_dir / "tokenize.so"), str(path).encode())
        with pytest.raises(error):
            workloads.Tokenize(path)
