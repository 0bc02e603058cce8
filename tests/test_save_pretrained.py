"""Checkpoints out: what we write, we and `transformers` read; a save that fails leaves what was there."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file

from bertbook import Bert, Tokenizer, load_pretrained, save_pretrained
from tests.pretrained_samples import WORDS, same_weights, tiny_model, tiny_tokenizer

FILES = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_hidden_layers": 1, "num_attention_heads": 1},
        {"hidden_size": 8, "num_attention_heads": 8, "intermediate_size": 5, "type_vocab_size": 3},
        {"num_hidden_layers": 11, "vocab_size": 14, "max_position_embeddings": 7, "pad_token_id": 3},
    ],
)
def test_round_trip_is_bit_for_bit(changes: dict[str, int], tmp_path: Path) -> None:
    model = tiny_model(**changes)
    folder = save_pretrained(model, tiny_tokenizer(), tmp_path / "deep" / "tiny")
    assert folder == tmp_path / "deep" / "tiny"
    loaded, tokenizer = load_pretrained(folder)
    assert same_weights(loaded, model)
    assert loaded.config == model.config
    assert tokenizer.vocab == tiny_tokenizer().vocab
    assert sorted(path.name for path in folder.iterdir()) == FILES
    assert [path.name for path in folder.parent.iterdir()] == ["tiny"]


def test_weights_keep_their_type_in_the_file(tmp_path: Path) -> None:
    model = tiny_model().to(torch.bfloat16)
    folder = save_pretrained(model, tiny_tokenizer(), tmp_path / "tiny")
    assert {tensor.dtype for tensor in load_file(folder / "model.safetensors").values()} == {torch.bfloat16}
    assert same_weights(load_pretrained(folder, dtype=torch.bfloat16)[0], model)


@pytest.mark.parametrize("real", [False, True], ids=["tiny", "minilm"])
def test_transformers_loads_it_to_the_same_outputs(real: bool, tmp_path: Path, minilm: tuple[Bert, Tokenizer]) -> None:
    model, tokenizer = minilm if real else (tiny_model(), tiny_tokenizer())
    folder = save_pretrained(model, tokenizer, tmp_path / "saved")
    theirs = transformers.AutoModel.from_pretrained(folder).eval()
    their_tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert type(theirs) is transformers.BertModel
    texts = [("The cat sat.", "It slept."), ("草莓", "The cats sat, the cat slept")]
    batch = tokenizer(texts)
    their_batch = their_tokenizer(*zip(*texts, strict=True), padding=True, return_tensors="pt")
    for key, tensor in batch.items():
        assert torch.equal(their_batch[key], tensor), key
    with torch.inference_mode():
        ours, expected = model(**batch), theirs(**their_batch)
    kept = batch["attention_mask"].bool()
    torch.testing.assert_close(ours.last_hidden_state[kept], expected.last_hidden_state[kept], atol=1e-5, rtol=0)
    torch.testing.assert_close(ours.pooler_output, expected.pooler_output, atol=1e-5, rtol=0)


def test_what_transformers_writes_we_read(tmp_path: Path) -> None:
    config = transformers.BertConfig(
        vocab_size=20, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=24
    )
    theirs = transformers.BertForMaskedLM(config)  # no pooler, a head, the prefix "bert."
    theirs.save_pretrained(tmp_path)
    tiny_tokenizer().save(tmp_path)
    with pytest.warns(UserWarning, match="no pooler"):
        ours, tokenizer = load_pretrained(tmp_path)
    batch = tokenizer(["The cat sat."])
    with torch.inference_mode():
        expected = theirs.eval().bert(**batch).last_hidden_state
        torch.testing.assert_close(ours(**batch).last_hidden_state, expected, atol=1e-5, rtol=0)


def test_the_config_says_which_class_of_transformers(tmp_path: Path) -> None:
    folder = save_pretrained(tiny_model(), tiny_tokenizer(), tmp_path / "tiny")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert (config["architectures"], config["model_type"]) == (["BertModel"], "bert")


def test_saving_over_the_folder_it_came_from_keeps_other_files(tmp_path: Path) -> None:
    folder = save_pretrained(tiny_model(seed=1), tiny_tokenizer(), tmp_path / "tiny")
    (folder / "README.md").write_text("mine", encoding="utf-8")
    model, tokenizer = load_pretrained(folder)
    with torch.no_grad():
        model.pooler.dense.bias.add_(1)
    save_pretrained(model, tokenizer, folder)
    assert same_weights(load_pretrained(folder)[0], model)
    assert (folder / "README.md").read_text(encoding="utf-8") == "mine"


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_others_may_read_what_the_umask_lets_them_read(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        folder = save_pretrained(tiny_model(), tiny_tokenizer(), tmp_path / "tiny")
    finally:
        os.umask(before)
    assert {oct(path.stat().st_mode & 0o777) for path in folder.iterdir()} == {"0o644"}
    assert oct(folder.stat().st_mode & 0o777) == "0o755"


def test_a_tokenizer_that_is_too_large_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the tokenizer has 21 tokens, the model's table 20 rows"):
        save_pretrained(tiny_model(), Tokenizer.from_vocab([*WORDS, *"abcdefg"]), tmp_path / "tiny")
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "tiny").write_text("in the way", encoding="utf-8")
    with pytest.raises(OSError, match=r"cannot save to .*tiny: .*choose another folder"):
        save_pretrained(tiny_model(), tiny_tokenizer(), tmp_path / "tiny")
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]


@pytest.mark.parametrize("existing", [False, True])
def test_a_full_disk_leaves_what_was_there(existing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tiny"
    before = tiny_model(seed=1)
    if existing:
        save_pretrained(before, tiny_tokenizer(), folder)

    def fsync(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr("bertbook.pretrained.fsync", fsync)
        with pytest.raises(OSError, match=r"cannot save to .*tiny: .*No space left.*Make room there"):
            save_pretrained(tiny_model(seed=2), tiny_tokenizer(), folder)
    assert [path.name for path in tmp_path.iterdir()] == (["tiny"] if existing else [])
    if existing:
        assert same_weights(load_pretrained(folder)[0], before)


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """The weights are written by compiled code, which must not be trusted with a full disk unseen."""
    own = ["unshare", "--map-root-user", "--mount", "sh", "-ec"]
    mount = f"mount -t tmpfs -o size=64k tmpfs {tmp_path}"
    if shutil.which("unshare") is None or subprocess.run([*own, mount], capture_output=True, check=False).returncode:
        pytest.skip("this system allows no mounts; the test above stands in")
    script = (
        "from bertbook import *; t = Tokenizer.from_vocab(['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']);"
        f"save_pretrained(Bert(BertConfig.preset('tiny', vocab_size=9)), t, {str(tmp_path / 'tiny')!r})"
    )
    done = subprocess.run(
        [*own, f'{mount}; "$0" -c "$1" || true; ls -A {tmp_path}', sys.executable, script],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "OSError: cannot save to" in done.stderr
    assert "No space left" in done.stderr
    assert done.stdout == ""
