"""Checkpoints in: the real one, folders in every published style, and damaged ones."""

import os
import warnings
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from bertbook import Bert, BertConfig, Tokenizer, load_pretrained, save_pretrained
from bertbook.published import published_key
from tests.pretrained_samples import WORDS, rewrite, same_weights, tiny_model, tiny_tokenizer


@pytest.fixture
def model() -> Bert:
    return tiny_model()


@pytest.fixture
def folder(tmp_path: Path, model: Bert) -> Path:
    """A saved checkpoint, to be changed at will."""
    return save_pretrained(model, tiny_tokenizer(), tmp_path / "tiny")


# --- what loads -------------------------------------------------------------------------------------------------


def test_the_real_weights_arrive_bit_for_bit(minilm: tuple[Bert, Tokenizer], minilm_folder: Path) -> None:
    model, tokenizer = minilm
    stored = load_file(minilm_folder / "model.safetensors")
    for key, tensor in model.state_dict().items():
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, stored.pop(published_key(key))), key
    assert list(stored) == ["embeddings.position_ids"]
    assert (model.name, model.training, len(tokenizer)) == ("minilm", False, 30522)
    assert sum(p.numel() for p in model.parameters()) == 22_713_216


def test_a_folder_as_text_or_path(folder: Path, model: Bert, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for name in (folder, str(folder), f"{folder}{os.sep}", ".", "../tiny"):
        loaded, tokenizer = load_pretrained(name)
        assert same_weights(loaded, model)
        assert loaded.config == model.config
        assert loaded.name == "tiny"
        assert not loaded.training
        assert all(p.requires_grad and not p.is_meta for p in loaded.parameters())
        assert tokenizer.vocab == tiny_tokenizer().vocab


def test_the_users_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("USERPROFILE", str(folder.parent))
    assert load_pretrained("~/tiny")[0].name == "tiny"


def test_device_and_dtype(folder: Path, model: Bert, device: str) -> None:
    loaded, _ = load_pretrained(folder, device=device, dtype=torch.bfloat16)
    assert {p.device.type for p in loaded.parameters()} == {device}
    assert same_weights(loaded.cpu(), model.to(torch.bfloat16))


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu"), "cpu:0", None])
def test_the_cpu_by_any_name(folder: Path, device: str | torch.device | None) -> None:
    assert next(load_pretrained(folder, device=device)[0].parameters()).device.type == "cpu"


def test_float32_whatever_the_file_holds(folder: Path, model: Bert) -> None:
    rewrite(folder, lambda tensors: {key: tensor.half() for key, tensor in tensors.items()})
    assert same_weights(load_pretrained(folder)[0], model.half().float())


def test_the_style_of_old_checkpoints_with_heads(folder: Path, model: Bert) -> None:
    def restyle(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        restyled = {}
        for key, tensor in tensors.items():
            if "LayerNorm" in key:
                key = key.replace("weight", "gamma").replace("bias", "beta")
            restyled[f"bert.{key}"] = tensor
        heads = ("cls.predictions.bias", "cls.seq_relationship.weight", "classifier.weight", "qa_outputs.bias")
        restyled |= {key: torch.zeros(3) for key in heads}
        restyled["bert.embeddings.position_ids"] = torch.arange(16)[None]
        return restyled

    rewrite(folder, restyle)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same_weights(load_pretrained(folder)[0], model)


def test_without_a_pooler_one_fresh_pooler_and_one_warning(tmp_path: Path) -> None:
    model = tiny_model(hidden_size=96, intermediate_size=96)
    folder = save_pretrained(model, tiny_tokenizer(), tmp_path / "tiny")
    rewrite(folder, lambda tensors: {key: t for key, t in tensors.items() if not key.startswith("pooler.")})
    loaded = []
    for _ in range(2):
        torch.manual_seed(7)
        with pytest.warns(
            UserWarning, match=r"model.safetensors holds no pooler\.dense\.weight, pooler\.dense\.bias: .* untrained"
        ) as caught:
            loaded.append(load_pretrained(folder)[0])
        assert len(caught) == 1
        assert caught[0].filename == __file__  # it points at the caller's line
    assert same_weights(*loaded)  # from the seed
    dense = loaded[0].pooler.dense
    assert dense.weight.std().item() == pytest.approx(0.02 * 0.88, rel=0.05)  # the normal, cut at two deviations
    assert not dense.bias.any()
    model.pooler.load_state_dict(loaded[0].pooler.state_dict())
    assert same_weights(loaded[0], model)


def test_a_loaded_model_needs_its_file_no_more(folder: Path, model: Bert) -> None:
    loaded, _ = load_pretrained(folder)
    os.truncate(folder / "model.safetensors", 0)  # memory mapped to it would now end the process
    assert same_weights(loaded, model)


def test_loading_draws_no_random_numbers(folder: Path) -> None:
    """The reader's seed stays where it was."""
    torch.manual_seed(0)
    before = torch.get_rng_state()
    load_pretrained(folder)
    assert torch.equal(torch.get_rng_state(), before)


# --- what does not ----------------------------------------------------------------------------------------------


def test_every_weight_that_does_not_fit_is_named_at_once(folder: Path) -> None:
    def spoil(tensors: dict[str, Tensor]) -> None:
        del tensors["encoder.layer.1.output.dense.bias"]
        del tensors["pooler.dense.bias"]
        tensors["decoder.weight"] = torch.zeros(3)
        tensors["encoder.layer.2.output.dense.bias"] = torch.zeros(12)
        tensors["embeddings.LayerNorm.bias"] = torch.zeros(13)
        tensors["encoder.layer.0.intermediate.dense.weight"] = torch.zeros(24, 12, dtype=torch.int8)
        tensors["bert.embeddings.LayerNorm.gamma"] = torch.zeros(12)

    rewrite(folder, spoil)
    with pytest.raises(ValueError, match=r"does not fit the config.json beside it") as failed:
        load_pretrained(folder)
    lines = str(failed.value).splitlines()
    assert lines[0].startswith(str(folder / "model.safetensors"))
    assert sorted(line.strip() for line in lines[1:]) == [
        "missing: encoder.layer.1.output.dense.bias",
        "missing: pooler.dense.bias",
        "of shape (13,) instead of (12,): embeddings.LayerNorm.bias",
        "of type torch.int8, not a floating-point number: encoder.layer.0.intermediate.dense.weight",
        "twice, under two names: embeddings.LayerNorm.weight",
        "unexpected: decoder.weight",
        "unexpected: encoder.layer.2.output.dense.bias",
    ]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"num_hidden_layers": 1}, "unexpected: encoder.layer.1.attention.self.query.weight"),
        ({"num_hidden_layers": 3}, "missing: encoder.layer.2.attention.self.query.weight"),
        ({"hidden_size": 15}, r"of shape \(20, 12\) instead of \(20, 15\): embeddings.word_embeddings.weight"),
        ({"type_vocab_size": 1}, r"of shape \(2, 12\) instead of \(1, 12\): embeddings.token_type_embeddings.weight"),
    ],
)
def test_a_config_that_contradicts_the_weights(changes: dict[str, int], named: str, folder: Path, model: Bert) -> None:
    BertConfig.from_dict({**model.config.to_dict(), **changes}).to_json(folder / "config.json")
    with pytest.raises(ValueError, match=named):
        load_pretrained(folder)


def test_a_vocabulary_larger_than_the_table(folder: Path) -> None:
    Tokenizer.from_vocab([*WORDS, *"abcdefg"]).save(folder)
    with pytest.raises(ValueError, match=r"the tokenizer has 21 tokens, the model's table 20 rows \(vocab_size\)"):
        load_pretrained(folder)


@pytest.mark.parametrize("size", [0, 4, 100, -1])
def test_a_truncated_weights_file(size: int, folder: Path) -> None:
    path = folder / "model.safetensors"
    os.truncate(path, size if size >= 0 else path.stat().st_size - 1)
    with pytest.raises(ValueError, match=r"tiny.model\.safetensors is damaged or no safetensors file: .* anew"):
        load_pretrained(folder)


def test_a_weights_file_with_a_spoilt_header(folder: Path) -> None:
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[8:20] = b"not the JSON"
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=r"tiny.model\.safetensors is damaged or no safetensors file"):
        load_pretrained(folder)


def test_a_config_that_is_no_json(folder: Path) -> None:
    (folder / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"tiny.config\.json: "):
        load_pretrained(folder)


def test_a_tokenizer_that_is_none(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match=r"tiny.tokenizer\.json: "):
        load_pretrained(folder)


def test_vocab_txt_alone_is_enough(folder: Path, model: Bert) -> None:
    (folder / "tokenizer.json").unlink()
    loaded, tokenizer = load_pretrained(folder)
    assert same_weights(loaded, model)
    assert tokenizer.vocab == tiny_tokenizer().vocab


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_file_that_is_not_there(name: str, folder: Path) -> None:
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=rf"tiny has no {name}: a checkpoint is config.json, .*vocab.txt"):
        load_pretrained(folder)


def test_a_folder_without_a_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"no tokenizer in .*tiny"):
        load_pretrained(folder)


@pytest.mark.parametrize("name", ["cuda:99", "xpu", "meta", "graphics card", 1.5])
def test_a_device_that_is_not_there(name: str, folder: Path) -> None:
    with pytest.raises(ValueError, match=r"device='?[\w: .]+'? is (not available|no device); this machine has cpu"):
        load_pretrained(folder, device=name)


@pytest.mark.parametrize("dtype", [torch.int64, "float32"])
def test_a_dtype_that_weights_cannot_have(dtype: torch.dtype, folder: Path) -> None:
    with pytest.raises(ValueError, match=r"dtype=.*choose a floating-point type, e.g. torch.float32"):
        load_pretrained(folder, dtype=dtype)


def test_an_unknown_name() -> None:
    with pytest.raises(ValueError, match=r"'minlm' is no checkpoint .*did you mean 'minilm'\?.*a hub id"):
        load_pretrained("minlm")


@pytest.mark.parametrize("name", ["", "./models/minilm", "/nowhere/at/all", "a/b/c"])
def test_a_path_to_nothing_is_not_looked_for_on_the_hub(name: str) -> None:
    with pytest.raises(ValueError, match="is no checkpoint that we know and no folder"):
        load_pretrained(name)


def test_a_path_object_to_nothing() -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*minilm.*the names 'minilm'"):
        load_pretrained(Path("nowhere/minilm"))


def test_a_safetensors_file_of_something_else(folder: Path) -> None:
    save_file({"conv1.weight": torch.zeros(2)}, folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"Take both from one checkpoint of a BERT(?s:.*)unexpected: conv1.weight"):
        load_pretrained(folder)
