"""Checkpoints under a head: what is kept, what starts anew and says so, what contradicts itself."""

import json
import os
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from bertbook import Bert, BertConfig, load_pretrained, save_pretrained
from bertbook.model.heads import HEADS, BertForTokenClassification, BertWithHead
from tests.pretrained_samples import randomise, rewrite, same_weights, shard, tiny_model, tiny_tokenizer

SIZES: dict[str, Any] = {
    "vocab_size": 20,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 24,
    "max_position_embeddings": 16,
}
THREE = {0: "O", 1: "B", 2: "I"}
VARIANTS = {
    "bert": {},
    "roberta": {"position_offset": 1},
    "albert": {"share_layers": True, "embedding_size": 6, "classifier_dropout": 0.1},
    "bertbook": {"norm_first": True, "position_embedding_type": "sinusoidal", "embedding_size": 6},
}


def with_head(head: str, **changes: Any) -> BertWithHead:
    model = HEADS[head](BertConfig(**{**SIZES, **changes})).eval()
    randomise(model)
    return model


def saved(model: Bert | BertWithHead, folder: Path) -> Path:
    return save_pretrained(model, tiny_tokenizer(), folder / "tiny")


def quietly(folder: Path, **options: Any) -> Any:
    """Load; any warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load_pretrained(folder, **options)[0]


# --- what loads -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("family", VARIANTS)
def test_round_trip_is_bit_for_bit(family: str, head: str, tmp_path: Path) -> None:
    model = with_head(head, **VARIANTS[family])
    assert model.config.model_type == family
    if (family, head) == ("roberta", "pretraining"):
        with pytest.raises(ValueError, match=r"RoBERTa has no next sentences.*save a BertForMaskedLM"):
            saved(model, tmp_path)
        return
    loaded = quietly(saved(model, tmp_path), head=head)
    assert type(loaded) is type(model)
    assert same_weights(loaded, model)
    assert loaded.config == model.config
    assert (loaded.name, loaded.bert.name, loaded.training) == ("tiny", "tiny", False)


def test_a_crf_comes_back(tmp_path: Path) -> None:
    model = with_head("tag", id2label=THREE, crf=True)
    folder = saved(model, tmp_path)
    loaded = quietly(folder, head="tag")
    assert same_weights(loaded, model)
    assert loaded.crf.transitions.any()
    labels = torch.tensor([[-100, 0, 1, 2, -100]])
    ids = torch.tensor([[2, 5, 6, 7, 3]])
    torch.testing.assert_close(loaded(ids, labels=labels).loss, model(ids, labels=labels).loss)
    without = quietly(folder, head="tag", crf=False)
    assert without.crf is None
    torch.testing.assert_close(without(ids).logits, model(ids).logits)


@pytest.mark.parametrize("head", HEADS)
def test_the_encoder_of_a_model_with_a_head(head: str, tmp_path: Path) -> None:
    model = with_head(head)
    folder = saved(model, tmp_path)
    if model.bert.pooler is None:
        with pytest.warns(UserWarning, match=r"holds no pooler\.dense\.weight, pooler\.dense\.bias"):
            loaded, _ = load_pretrained(folder)
        loaded.pooler = None
    else:
        loaded = quietly(folder)
    assert same_weights(loaded, model.bert)


@pytest.mark.parametrize(
    ("head", "fresh"),
    [
        ("mlm", ["cls.predictions.bias", "cls.predictions.transform.dense.weight"]),
        ("pretraining", ["cls.predictions.transform.LayerNorm.weight", "cls.seq_relationship.weight"]),
        ("classify", ["classifier.weight", "classifier.bias"]),
        ("tag", ["classifier.weight", "classifier.bias", "crf.start", "crf.transitions"]),
        ("answer", ["qa_outputs.weight", "qa_outputs.bias"]),
    ],
)
def test_a_head_that_is_not_there_starts_anew_with_one_warning(head: str, fresh: list[str], tmp_path: Path) -> None:
    model = tiny_model(hidden_size=48)
    folder = saved(model, tmp_path)
    options = {"crf": True} if head == "tag" else {}
    loaded = []
    for _ in range(2):
        torch.manual_seed(7)
        with pytest.warns(UserWarning, match="start untrained") as caught:
            loaded.append(load_pretrained(folder, head=head, **options)[0])
        assert len(caught) == 1
        assert caught[0].filename == __file__  # it points at the caller's line
        assert all(name in str(caught[0].message) for name in fresh)
        assert "embeddings" not in str(caught[0].message)
    assert same_weights(*loaded)  # from the seed
    for key, tensor in loaded[0].state_dict().items():
        if key.startswith("bert."):
            assert torch.equal(tensor, model.state_dict()[key.removeprefix("bert.")])
        elif key.endswith("norm.weight"):
            assert (tensor == 1).all()
        elif key.endswith("bias") or key.startswith("crf."):
            assert not tensor.any()
        else:
            assert 0 < tensor.abs().max() <= 0.04, key  # cut at two deviations of 0.02
    assert all(not tensor.is_meta for tensor in [*loaded[0].parameters(), *loaded[0].buffers()])


def test_half_of_pre_training_is_kept(tmp_path: Path) -> None:
    model = with_head("mlm")
    folder = saved(model, tmp_path)
    with pytest.warns(UserWarning, match=r"pooler\.dense\.weight.*cls\.seq_relationship\.weight") as caught:
        loaded, _ = load_pretrained(folder, head="pretraining")
    assert "cls.predictions" not in str(caught[0].message)
    assert same_weights(loaded.mlm, model.mlm)


@pytest.mark.parametrize("head", ["classify", "tag"])
def test_other_labels(head: str, tmp_path: Path) -> None:
    model = with_head(head, id2label=THREE)
    folder = saved(model, tmp_path)
    renamed = quietly(folder, head=head, labels=["a", "b", "c"])
    assert renamed.config.id2label == {0: "a", 1: "b", 2: "c"}
    assert same_weights(renamed, model)
    with pytest.warns(UserWarning, match=r"holds no classifier\.weight, classifier\.bias: they start untrained"):
        loaded, _ = load_pretrained(folder, head=head, labels=["score"])
    assert loaded.classifier.weight.shape == (1, 12)
    assert same_weights(loaded.bert, model.bert)


def test_device_and_dtype(tmp_path: Path, device: str) -> None:
    folder = saved(with_head("tag", crf=True), tmp_path)
    loaded, _ = load_pretrained(folder, head="tag", device=device, dtype=torch.bfloat16)
    assert {p.device.type for p in [*loaded.parameters(), *loaded.buffers()]} == {device}
    assert {p.dtype for p in loaded.parameters()} == {torch.bfloat16}


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("old", [True, False])
def test_with_and_without_prefix_and_old_names(prefix: bool, old: bool, tmp_path: Path) -> None:
    model = with_head("pretraining")
    folder = saved(model, tmp_path)

    def restyle(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        restyled = {}
        for key, tensor in tensors.items():
            if old and "LayerNorm" in key:
                key = key.replace("weight", "gamma").replace("bias", "beta")
            restyled[key if prefix else key.removeprefix("bert.")] = tensor
        return restyled

    rewrite(folder, restyle)
    assert same_weights(quietly(folder, head="pretraining"), model)


def test_shards(tmp_path: Path) -> None:
    model = with_head("mlm")
    folder = saved(model, tmp_path)
    names = shard(folder)
    assert same_weights(quietly(folder, head="mlm"), model)
    assert len(names) == 3


@pytest.mark.parametrize("zipped", [True, False], ids=["new format", "before PyTorch 1.6"])
def test_a_bin_of_tensors_alone(zipped: bool, tmp_path: Path) -> None:
    model = with_head("classify")
    folder = saved(model, tmp_path)
    path = folder / "model.safetensors"
    torch.save(load_file(path), folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    path.unlink()
    loaded = quietly(folder, head="classify")
    os.truncate(folder / "pytorch_model.bin", 0)  # memory mapped to it would now end the process
    assert same_weights(loaded, model)


def test_safetensors_are_preferred(tmp_path: Path) -> None:
    model = with_head("mlm")
    folder = saved(model, tmp_path)
    (folder / "pytorch_model.bin").write_bytes(b"never opened")
    assert same_weights(quietly(folder, head="mlm"), model)


# --- tied weights -----------------------------------------------------------------------------------------------

TIED = {
    "bert": ("bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight", "cls.predictions"),
    "roberta": ("roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight", "lm_head"),
    "albert": ("albert.embeddings.word_embeddings.weight", "predictions.decoder.weight", "predictions"),
}


@pytest.mark.parametrize("family", TIED)
def test_what_is_stored_twice_must_be_equal(family: str, tmp_path: Path) -> None:
    table, decoder, mlm = TIED[family]
    model = with_head("mlm", **VARIANTS[family])
    folder = saved(model, tmp_path)
    rewrite(folder, lambda t: t | {decoder: t[table].clone(), f"{mlm}.decoder.bias": t[f"{mlm}.bias"].clone()})
    assert same_weights(quietly(folder, head="mlm"), model)

    rewrite(folder, lambda t: t | {decoder: t[table] + 1, f"{mlm}.decoder.bias": t[f"{mlm}.bias"] + 1})
    with pytest.raises(ValueError, match=r"does not fit the config\.json") as failed:
        load_pretrained(folder, head="mlm")
    assert {line.strip() for line in str(failed.value).splitlines()[1:]} == {
        f"different from embeddings.word_embeddings.weight, which this model has in its place: {decoder}",
        f"different from {mlm}.bias, which this model has in its place: {mlm}.decoder.bias",
    }
    with pytest.warns(UserWarning, match="pooler"):
        load_pretrained(folder)  # the encoder alone does not care


def test_one_of_the_two_is_enough(tmp_path: Path) -> None:
    model = with_head("mlm")
    folder = saved(model, tmp_path)

    def move(tensors: dict[str, Tensor]) -> None:
        tensors["cls.predictions.decoder.weight"] = tensors.pop("bert.embeddings.word_embeddings.weight")
        tensors["cls.predictions.decoder.bias"] = tensors.pop("cls.predictions.bias")

    rewrite(folder, move)
    assert same_weights(quietly(folder, head="mlm"), model)


# --- what does not load -----------------------------------------------------------------------------------------


def test_every_weight_that_does_not_fit_is_named_at_once(tmp_path: Path) -> None:
    folder = saved(with_head("pretraining"), tmp_path)

    def spoil(tensors: dict[str, Tensor]) -> None:
        del tensors["bert.encoder.layer.1.output.dense.bias"]
        del tensors["cls.seq_relationship.bias"]  # a head that is there in part
        tensors["cls.predictions.transform.dense.weight"] = torch.zeros(12, 13)
        tensors["bert.encoder.layer.2.output.dense.bias"] = torch.zeros(12)
        tensors["embeddings.word_embeddings.weight"] = torch.zeros(20, 12)
        tensors["linear.weight"] = torch.zeros(3)

    rewrite(folder, spoil)
    with pytest.raises(ValueError, match=r"does not fit the config\.json beside it") as failed:
        load_pretrained(folder, head="pretraining")
    assert sorted(line.strip() for line in str(failed.value).splitlines()[1:]) == [
        "missing: cls.seq_relationship.bias",
        "missing: encoder.layer.1.output.dense.bias",
        "of shape (12, 13) instead of (12, 12): cls.predictions.transform.dense.weight",
        "twice, under two names: embeddings.word_embeddings.weight",
        "unexpected: bert.encoder.layer.2.output.dense.bias",
        "unexpected: linear.weight",
    ]


@pytest.mark.parametrize("family", ["bert", "roberta", "albert"])
def test_a_config_of_another_number_of_labels(family: str, tmp_path: Path) -> None:
    """Without ``labels`` the two are expected to agree."""
    folder = saved(with_head("tag", id2label=THREE, **VARIANTS[family]), tmp_path)
    values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    values["id2label"] = {"0": "no", "1": "yes"}
    (folder / "config.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ValueError, match=r"of shape \(3, 12\) instead of \(2, 12\): classifier.weight"):
        load_pretrained(folder, head="tag")


@pytest.mark.parametrize(("written", "claimed"), [("bert", "roberta"), ("roberta", "albert"), ("albert", "bert")])
def test_a_config_of_another_family(written: str, claimed: str, tmp_path: Path) -> None:
    folder = saved(with_head("mlm", **VARIANTS[written]), tmp_path)
    config = BertConfig(**SIZES, **VARIANTS[claimed])
    config.to_json(folder / "config.json")
    with pytest.raises(ValueError, match=rf"unexpected: {written}\.embeddings\.word_embeddings\.weight") as failed:
        load_pretrained(folder, head="mlm")
    assert "missing: embeddings.word_embeddings.weight" in str(failed.value)


def test_roberta_has_no_next_sentences(tmp_path: Path) -> None:
    folder = saved(with_head("mlm", **VARIANTS["roberta"]), tmp_path)
    with pytest.raises(ValueError, match="RoBERTa was trained without next sentences; choose head='mlm'"):
        load_pretrained(folder, head="pretraining")


def test_roberta_classifies_through_a_dense_layer_of_its_own(tmp_path: Path) -> None:
    """``roberta.pooler`` is in some files, untrained; the classifier must not take it for its own."""
    folder = saved(tiny_model(position_offset=1), tmp_path)
    with pytest.warns(UserWarning, match=r"holds no classifier\.dense\.weight, .*classifier\.out_proj\.bias"):
        load_pretrained(folder, head="classify")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"head": "ner"}, r"head='ner': choose one of 'mlm', 'pretraining', 'classify', 'tag', 'answer', or None"),
        ({"labels": ["a", "b"]}, r"labels with head=None: they go with head='classify' and head='tag'"),
        ({"head": "mlm", "labels": ["a", "b"]}, r"labels with head='mlm'"),
        ({"head": "tag", "labels": "OBI"}, r"labels='OBI' is one text: pass a list of names"),
        ({"head": "tag", "labels": []}, r"id2label=\{\}: expected the names of the labels"),
        ({"head": "tag", "labels": ["a", ""]}, r"a name is empty or no text"),
        ({"head": "classify", "crf": True}, r"crf=True with head='classify': a CRF goes with head='tag'"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder = saved(tiny_model(), tmp_path)
    with pytest.raises(ValueError, match=message):
        load_pretrained(folder, **options)


def test_a_model_of_ones_own_has_no_layout(tmp_path: Path) -> None:
    class Mine(BertWithHead):
        pass

    with pytest.raises(TypeError, match="Mine has no published layout: save_pretrained takes Bert and BertForMaskedLM"):
        saved(Mine(BertConfig(**SIZES)), tmp_path)


# --- damaged and dangerous files --------------------------------------------------------------------------------


class Payload:
    """What a hostile pickle holds: a call."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("zipped", [True, False])
def test_a_bin_with_code_is_refused_and_not_run(zipped: bool, tmp_path: Path) -> None:
    folder = saved(tiny_model(), tmp_path)
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    marker = tmp_path / "ran"
    torch.save({**tensors, "x": Payload(marker)}, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    with pytest.raises(ValueError, match=r"pytorch_model\.bin is damaged, or holds more than tensors .*could run code"):
        load_pretrained(folder)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1, 2], "holds list, not weights by name"),
        ({0: torch.zeros(2)}, "holds dict, not weights by name"),
        ({"a": torch.zeros(2), "epoch": 3, "model": {}}, "holds more than weights by name: epoch, model"),
        ({"conv.weight": torch.zeros(2)}, "unexpected: conv.weight"),
    ],
)
def test_a_bin_of_something_else(content: Any, message: str, tmp_path: Path) -> None:
    folder = saved(tiny_model(), tmp_path)
    (folder / "model.safetensors").unlink()
    torch.save(content, folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match=message):
        load_pretrained(folder)


@pytest.mark.parametrize("size", [0, 4, 1000, -1])
@pytest.mark.parametrize("zipped", [True, False])
def test_a_truncated_bin(size: int, zipped: bool, tmp_path: Path) -> None:
    folder = saved(tiny_model(), tmp_path)
    path = folder / "pytorch_model.bin"
    torch.save(load_file(folder / "model.safetensors"), path, _use_new_zipfile_serialization=zipped)
    (folder / "model.safetensors").unlink()
    os.truncate(path, size if size >= 0 else path.stat().st_size - 1)
    with pytest.raises(ValueError, match=r"pytorch_model\.bin is damaged, or holds more than tensors"):
        load_pretrained(folder)


def test_a_truncated_shard(tmp_path: Path) -> None:
    folder = saved(tiny_model(), tmp_path)
    names = shard(folder)
    os.truncate(folder / names[1], 50)
    with pytest.raises(ValueError, match=rf"{names[1]} is damaged or no safetensors file"):
        load_pretrained(folder)


def test_a_shard_that_is_not_there(tmp_path: Path) -> None:
    folder = saved(tiny_model(), tmp_path)
    names = shard(folder)
    (folder / names[0]).unlink()
    (folder / names[2]).unlink()
    with pytest.raises(
        FileNotFoundError, match=rf"tiny lacks {names[0]}, {names[2]}, shards that model.safetensors.ind"
    ):
        load_pretrained(folder)


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"weight_map": ["a"]}', '{"weight_map": {"a": 1}}'])
def test_a_damaged_index(content: str, tmp_path: Path) -> None:
    folder = saved(tiny_model(), tmp_path)
    shard(folder)
    (folder / "model.safetensors.index.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"index\.json is no index of shards"):
        load_pretrained(folder)


@pytest.mark.parametrize("name", ["../other.safetensors", "/etc/passwd", "config.json"])
def test_an_index_that_reaches_for_other_files(name: str, tmp_path: Path) -> None:
    folder = saved(tiny_model(), tmp_path)
    shard(folder)
    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    index = {"weight_map": {"embeddings.word_embeddings.weight": name}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(ValueError, match=r"shards must be weight files beside it"):
        load_pretrained(folder)


def test_weights_under_an_index_that_do_not_fit(tmp_path: Path) -> None:
    folder = saved(tiny_model(), tmp_path)
    names = shard(folder)
    tensors = load_file(folder / names[0])
    removed = next(iter(tensors))
    save_file({key: tensor for key, tensor in tensors.items() if key != removed}, folder / names[0])
    with pytest.raises(ValueError, match=rf"missing: {removed}"):
        load_pretrained(folder)


def test_no_weights_at_all(tmp_path: Path) -> None:
    folder = saved(with_head("tag"), tmp_path)
    (folder / "model.safetensors").rename(folder / "tf_model.h5")
    with pytest.raises(FileNotFoundError, match=r"no model\.safetensors.*also taken from .*pytorch_model\.bin"):
        load_pretrained(folder, head="tag")


def test_the_crf_is_that_of_the_number_of_labels(tmp_path: Path) -> None:
    folder = saved(with_head("tag", id2label=THREE, crf=True), tmp_path)
    with pytest.warns(UserWarning, match=r"classifier\.weight.*crf\.transitions"):
        loaded, _ = load_pretrained(folder, head="tag", labels=["a", "b"])
    assert isinstance(loaded, BertForTokenClassification)
    assert loaded.crf is not None
    assert loaded.crf.transitions.shape == (2, 2)
