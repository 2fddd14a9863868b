"""A space translates between the user's values and the unit cube without losing either."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import subprocess
import sys
from typing import Any

import ConfigSpace as CS
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from midrun.space import Categorical, Constant, Float, Integer, Ordinal, Space

EPS = np.finfo(float).eps
SCALARS = st.one_of(
    st.booleans(),
    st.none(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
)


def ordered(low: Any, high: Any, *args: Any) -> tuple[Any, ...]:
    return (min(low, high), max(low, high), *args)


def pairs(elements: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, Any]]:
    return st.tuples(elements, elements).filter(lambda p: p[0] != p[1]).map(lambda p: ordered(*p))


def within(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_subnormal=False)


LISTS = st.lists(SCALARS, min_size=2, max_size=7, unique_by=lambda v: (isinstance(v, bool), v))
SPECS = st.one_of(
    pairs(within(-1e300, 1e300)).map(lambda p: Float(*p)),
    pairs(within(-10, 10)).map(lambda p: Float(*p)),
    pairs(within(1e-300, 1e300))
    .filter(lambda p: math.log(p[0]) < math.log(p[1]))
    .map(lambda p: Float(*p, log=True)),
    pairs(within(1e-17, 1e-15))
    .filter(lambda p: p[1] / p[0] > 1.001)
    .map(lambda p: Float(*p, True)),
    pairs(st.integers(-(2**52), 2**52)).map(lambda p: Integer(*p)),
    pairs(st.integers(-20, 20)).map(lambda p: Integer(*p)),
    pairs(st.integers(1, 2**40)).map(lambda p: Integer(*p, log=True)),
    pairs(st.integers(1, 50)).map(lambda p: Integer(*p, log=True)),
    LISTS.map(Ordinal),
    LISTS.map(Categorical),
)
SPACES = st.lists(SPECS, min_size=1, max_size=5).flatmap(
    lambda specs: st.lists(SCALARS.map(Constant), max_size=2).flatmap(
        lambda constants: st.permutations([*specs, *constants]).map(
            lambda all_: Space({f"p{i}": spec for i, spec in enumerate(all_)})
        )
    )
)
COORDINATE = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1), st.floats(-0.5, 1.5))


@st.composite
def spaces_and_cubes(draw: st.DrawFn) -> tuple[Space, np.ndarray]:
    space = draw(SPACES)
    rows = draw(st.integers(1, 4))
    flat = draw(st.lists(COORDINATE, min_size=rows * space.d, max_size=rows * space.d))
    return space, np.array(flat).reshape(rows, space.d)


def value_of(spec: Any) -> st.SearchStrategy[Any]:
    if isinstance(spec, Float):
        return st.floats(spec.low, spec.high)
    if isinstance(spec, Integer):
        return st.integers(spec.low, spec.high)
    return st.sampled_from(spec.values if isinstance(spec, Ordinal) else spec.choices)


@st.composite
def spaces_and_params(draw: st.DrawFn) -> tuple[Space, dict[str, Any]]:
    space = draw(SPACES)
    return space, {name: draw(value_of(space.specs[name])) for name in space.names}


def identical(a: Any, b: Any) -> bool:
    """Equal and of the same type, which `==` does not tell: 1 == 1.0 == True."""
    return type(a) is type(b) and a == b


def same_dict(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return list(a) == list(b) and all(identical(a[k], b[k]) for k in a)


# --- decode -----------------------------------------------------------------------------------


@given(spaces_and_cubes())
def test_decoded_values_are_plain_and_never_outside_the_bounds(case: Any) -> None:
    space, U = case
    for u in U:
        params = space.decode(u)
        assert list(params) == list(space.specs)
        for name, spec in space.specs.items():
            value = params[name]
            if isinstance(spec, Float):
                assert type(value) is float
                assert spec.low <= value <= spec.high
            elif isinstance(spec, Integer):
                assert type(value) is int
                assert spec.low <= value <= spec.high
            elif isinstance(spec, Constant):
                assert identical(value, spec.value)
            else:
                items = spec.values if isinstance(spec, Ordinal) else spec.choices
                assert any(identical(value, item) for item in items)


@given(SPACES)
def test_the_corners_of_the_cube_are_the_bounds_exactly(space: Space) -> None:
    bottom, top = space.decode(np.zeros(space.d)), space.decode(np.ones(space.d))
    for name in space.names:
        spec = space.specs[name]
        if isinstance(spec, Float | Integer):
            ends = spec.low, spec.high
        else:
            items = spec.values if isinstance(spec, Ordinal) else spec.choices
            ends = items[0], items[-1]
        assert identical(bottom[name], ends[0])
        assert identical(top[name], ends[1])


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(("low", "high"), [(1e-4, 1e-1), (0.5, 1.0), (2.0, 3e5)])
def test_a_float_decodes_as_in_configspace(low: float, high: float, log: bool) -> None:
    theirs = CS.UniformFloatHyperparameter("x", low, high, log=log)
    ours = Space({"x": Float(low, high, log=log)})
    for u in np.linspace(0, 1, 21):
        assert ours.decode([u])["x"] == pytest.approx(theirs.to_value(u), rel=1e-9)


@given(st.integers(1, 2**40 - 8), st.integers(1, 7), st.integers(0, 7))
@example(low=2**40 - 8, width=7, step=7)
def test_close_log_integers_stay_apart(low: int, width: int, step: int) -> None:
    space = Space({"n": Integer(low, low + width, log=True)})
    n = low + min(step, width)
    assert identical(space.decode(space.encode({"n": n}))["n"], n)


@given(st.integers(0, 2**53), st.integers(2**52 - 3, 2**53))
@example(2**52 - 1, 2**53 - 3)
@example(2**53, 2**53)
@example(2**53 - 1, 2**53)
def test_integers_round_trip_where_neighbours_are_an_ulp_apart(k: int, last: int) -> None:
    space = Space({"n": Integer(-7, last - 7)})
    n = min(k, last) - 7
    u = space.encode({"n": n})
    assert identical(space.decode(u)["n"], n)
    assert np.array_equal(space.snap(u), u)


# --- snap -------------------------------------------------------------------------------------


@given(spaces_and_cubes())
def test_snap_is_idempotent_and_decode_does_not_see_it(case: Any) -> None:
    space, U = case
    before = U.copy()
    snapped = space.snap(U)
    assert np.array_equal(U, before)
    assert snapped.dtype == np.float64
    assert ((snapped >= 0) & (snapped <= 1)).all()
    assert np.array_equal(space.snap(snapped), snapped)
    for u, s in zip(U, snapped, strict=True):
        assert same_dict(space.decode(u), space.decode(s))
        assert np.array_equal(space.snap(u), s)
    cube = np.stack([U, U[::-1]])
    assert np.array_equal(space.snap(cube), np.stack([snapped, snapped[::-1]]))


@given(
    st.one_of(
        pairs(st.integers(1, 60)).map(lambda p: Integer(*p, log=True)),
        pairs(st.integers(-30, 30)).map(lambda p: Integer(*p)),
        LISTS.map(Ordinal),
        LISTS.map(Categorical),
    ),
    st.floats(-0.1, 1.1),
)
def test_snap_goes_to_the_nearest_level(spec: Any, u: float) -> None:
    if isinstance(spec, Integer) and spec.log:
        values = range(spec.low, spec.high + 1)
        units = [math.log(v / spec.low) / math.log(spec.high / spec.low) for v in values]
    else:
        n = int(Space({"x": spec}).levels[0])
        units = [k / (n - 1) for k in range(n)]
    clipped = min(max(u, 0.0), 1.0)
    snapped = Space({"x": spec}).snap([u])[0]
    assert min(abs(snapped - v) for v in units) < 1e-14
    assert abs(snapped - clipped) <= min(abs(v - clipped) for v in units) + 1e-14


def test_a_continuous_dimension_is_only_clipped() -> None:
    space = Space({"a": (0.0, 1.0), "b": Float(1e-17, 1e-15, log=True)})
    assert space.snap([0.1, 0.7]).tolist() == [0.1, 0.7]
    assert space.snap([[-3.0, 2.0], [math.inf, -math.inf]]).tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("bad", [[0.5, math.nan], [0.5], 0.5, [[0.5]], [0.1, 0.2, 0.3]])
def test_snap_and_decode_refuse_nan_and_other_shapes(bad: Any) -> None:
    space = Space({"lr": (0.0, 1.0), "layers": (1, 8)})
    for method in (space.snap, space.decode):
        with pytest.raises(ValueError, match=r"\(\.\.\., 2\) and no NaN.*lr, layers"):
            method(bad)


def test_decode_takes_one_row() -> None:
    with pytest.raises(ValueError, match=r"shape \(1,\), but got \(2, 1\)"):
        Space({"a": (0.0, 1.0)}).decode([[0.5], [0.5]])


# --- encode -----------------------------------------------------------------------------------


@given(spaces_and_params())
def test_decode_undoes_encode(case: Any) -> None:
    space, params = case
    u = space.encode(params)
    assert u.shape == (space.d,)
    assert u.dtype == np.float64
    back = space.decode(u)
    for name, value in params.items():
        spec = space.specs[name]
        if isinstance(spec, Float):
            scale = abs(value) if spec.log else max(abs(spec.low), abs(spec.high))
            assert abs(back[name] - value) <= 1e-12 * scale
        else:
            assert identical(back[name], value)


@given(spaces_and_cubes())
def test_encode_undoes_decode_up_to_rounding(case: Any) -> None:
    space, U = case
    for u in U:
        again, snapped = space.encode(space.decode(u)), space.snap(u)
        for i, name in enumerate(space.names):
            spec = space.specs[name]
            if not isinstance(spec, Float):
                assert again[i] == snapped[i]
            elif spec.log:
                logs = math.log(spec.low), math.log(spec.high)
                size = 1 + max(map(abs, logs))
                assert abs(again[i] - snapped[i]) <= 8 * EPS * (1 + size / (logs[1] - logs[0]))
            else:
                size = max(abs(spec.low), abs(spec.high))
                assert abs(again[i] - snapped[i]) <= 8 * EPS * (1 + size / (spec.high - spec.low))


def test_encode_takes_flat_and_nested_names_numpy_scalars_and_constants() -> None:
    space = Space({"aug": {"crop": (0.5, 1.0), "flip": bool}, "layers": (1, 9), "epochs": 90})
    expected = [0.5, 1.0, 0.25]
    for params in (
        {"aug": {"crop": 0.75, "flip": True}, "layers": 3},
        {"layers": 3, "aug.flip": True, "aug.crop": 0.75, "epochs": 90},
        {"aug.crop": np.float32(0.75), "aug.flip": np.True_, "layers": np.int8(3)},
        {"aug.crop": np.longdouble(0.75), "aug": {"flip": True}, "layers": 3.0, "epochs": 90.0},
    ):
        assert space.encode(params).tolist() == expected
    assert space.encode({"aug.crop": 1, "aug.flip": False, "layers": 9}).tolist() == [1, 0, 1]


FULL = Space(
    {
        "lr": Float(0.1, 1.0, log=True),
        "n": (1, 8),
        "opt": ["sgd", 1, None],
        "size": Ordinal([16, 32, 64]),
        "epochs": 90,
    }
)
GOOD = {"lr": 0.5, "n": 2, "opt": "sgd", "size": 32}


@pytest.mark.parametrize(
    ("change", "error", "parts"),
    [
        ({"lr": "0.5"}, TypeError, ["'lr'", "'0.5'", "number in [0.1, 1.0]"]),
        ({"lr": True}, TypeError, ["'lr'", "True", "number in [0.1, 1.0]"]),
        ({"lr": None}, TypeError, ["'lr'", "None"]),
        ({"lr": [0.5]}, TypeError, ["'lr'", "[0.5]"]),
        ({"lr": 0.05}, ValueError, ["'lr'", "0.05", "[0.1, 1.0]"]),
        ({"lr": math.nextafter(1.0, 2.0)}, ValueError, ["'lr'", "1.0000000000000002"]),
        ({"lr": math.nan}, ValueError, ["'lr'", "nan", "finite"]),
        ({"lr": math.inf}, ValueError, ["'lr'", "inf", "finite"]),
        ({"lr": 10**400}, ValueError, ["'lr'", "finite"]),
        ({"n": 2.5}, ValueError, ["'n'", "2.5", "whole number in [1, 8]"]),
        ({"n": 9}, ValueError, ["'n'", "9", "[1, 8]"]),
        ({"n": True}, TypeError, ["'n'", "True", "whole number"]),
        ({"n": math.nan}, ValueError, ["'n'", "nan"]),
        ({"n": math.inf}, ValueError, ["'n'", "inf"]),
        ({"opt": "adam"}, ValueError, ["'opt'", "'adam'", "'sgd' or 1 or None"]),
        ({"opt": True}, ValueError, ["'opt'", "True", "'sgd' or 1 or None"]),
        ({"opt": ["sgd"]}, TypeError, ["'opt'", "['sgd']"]),
        ({"opt": np.array(["sgd", "sgd"])}, TypeError, ["'opt'", "array("]),
        ({"size": 48}, ValueError, ["'size'", "48", "16 or 32 or 64"]),
        ({"epochs": 91}, ValueError, ["'epochs'", "91", "90"]),
        ({"momentum": 0.9}, ValueError, ["'momentum'", "0.9", "lr, n, opt, size, epochs"]),
        ({"n": {"x": 1}}, ValueError, ["'n.x'", "1"]),
        ({"n": {}}, ValueError, ["'n'", "empty"]),
    ],
)
def test_encode_names_what_it_refuses(change: Any, error: Any, parts: list[str]) -> None:
    with pytest.raises(error) as caught:
        FULL.encode(GOOD | change)
    assert all(part in str(caught.value) for part in parts), caught.value


def test_encode_names_what_is_missing_and_what_occurs_twice() -> None:
    with pytest.raises(ValueError, match=r"parameter 'n'.*Missing: n, size"):
        FULL.encode({"lr": 0.5, "opt": None})
    with pytest.raises(TypeError, match=r"`params` must be a dict.*0\.5"):
        FULL.encode([0.5])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"parameter 'a\.b'.*once"):
        Space({"a.b": (1, 2)}).encode({"a.b": 1, "a": {"b": 2}})


def test_true_one_and_none_are_three_choices_and_one_is_its_float() -> None:
    space = Space({"x": [True, 1, None, 0.5], "y": [1.0, 2.0]})
    for value in (True, 1, None, 0.5):
        assert identical(space.decode(space.encode({"x": value, "y": 1}))["x"], value)
    assert identical(space.decode(space.encode({"x": 1.0, "y": 1}))["x"], 1)
    assert identical(space.decode(space.encode({"x": 1, "y": 2}))["y"], 2.0)


# --- what a dict means ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shorthand", "spec"),
    [
        ((0.5, 1.0), Float(0.5, 1.0)),
        ((1, 8), Integer(1, 8)),
        ((0, 0.5), Float(0.0, 0.5)),
        ((0.5, 2), Float(0.5, 2.0)),
        ((np.int64(1), np.int32(8)), Integer(1, 8)),
        ((np.float64(0.5), 1), Float(0.5, 1.0)),
        ((-1e-17, 1e-17), Float(-1e-17, 1e-17)),
        (["a", "b"], Categorical(["a", "b"])),
        ([1, 2.5, None, "x", True], Categorical((1, 2.5, None, "x", True))),
        ([np.int64(1), np.str_("x"), np.bool_(True)], Categorical([1, "x", True])),
        (["a"], Constant("a")),
        ([None], Constant(None)),
        (bool, Categorical([False, True])),
        ("sgd", Constant("sgd")),
        (3, Constant(3)),
        (3.0, Constant(3.0)),
        (True, Constant(True)),
        (np.float64(0.5), Constant(0.5)),
        (Ordinal((1, 4, 16)), Ordinal([1, 4, 16])),
        (CS.Float("other", (1e-4, 1e-1), log=True), Float(1e-4, 1e-1, log=True)),
        (CS.Integer("other", (1, 64), log=True), Integer(1, 64, log=True)),
    ],
)
def test_shorthand_means_what_it_means_in_configspace(shorthand: Any, spec: Any) -> None:
    space = Space.of({"x": shorthand, "other": (0.0, 1.0)})
    assert space.specs["x"] == spec
    fields = [f for v in vars(space.specs["x"]).values() for f in (v if type(v) is tuple else [v])]
    assert all(type(f) in (str, int, float, bool, type(None)) for f in fields)


def test_bounds_are_kept_to_the_last_bit() -> None:
    low, high = 1.23456789012345678e-15, 0.1 + 0.2
    spec = Space({"x": (low, high)}).specs["x"]
    assert (spec.low, spec.high) == (low, high)  # type: ignore[union-attr]


def test_a_space_lists_dimensions_in_the_users_order_and_constants_apart() -> None:
    space = Space(
        {
            "z": (0.0, 1.0),
            "k": 3,
            "aug": {"crop": (1, 8), "deep": {"on": bool}},
            "a": Ordinal(["x", "y"]),
        }
    )
    assert space.names == ("z", "aug.crop", "aug.deep.on", "a")
    assert space.constants == {"k": 3}
    assert space.d == len(space) == 4
    assert space.levels.tolist() == [0, 8, 2, 2]
    assert space.categorical.tolist() == [False, False, True, False]
    assert list(space.decode([0, 0, 0, 0])) == ["z", "k", "aug.crop", "aug.deep.on", "a"]
    assert Space.of(space) is space


def test_a_space_does_not_change() -> None:
    choices = ["a", "b"]
    space = Space({"x": choices, "c": 1})
    choices.append("c")
    space.constants["c"] = 2
    assert (space.levels[0], space.constants) == (2, {"c": 1})
    with pytest.raises(AttributeError, match=r"must not change.*names"):
        space.names = ("y",)  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        space.levels[0] = 3
    with pytest.raises(TypeError):
        space.specs["x"] = Constant(1)  # type: ignore[index]


@pytest.mark.parametrize(
    ("value", "error", "parts"),
    [
        ((0.1, 0.1), ValueError, ["`low < high` must hold, but got (low=0.1, high=0.1)"]),
        ((8, 1), ValueError, ["`low < high`", "(low=8, high=1)"]),
        ((1,), ValueError, ["(1,)", "(low, high)", "list"]),
        ((1, 2, 3), ValueError, ["(1, 2, 3)", "list", "Ordinal"]),
        ((), ValueError, ["()", "(low, high)"]),
        ((1e-4, 1e-1, "log"), ValueError, ["'log'", "log=True"]),
        (("sgd", "adam"), ValueError, ["('sgd', 'adam')", "list"]),
        ((False, True), ValueError, ["(False, True)", "list"]),
        ((0, True), ValueError, ["(0, True)"]),
        ((None, 1.0), ValueError, ["(None, 1.0)"]),
        ((0.0, math.nan), ValueError, ["`high`", "nan", "finite"]),
        ((-math.inf, 1.0), ValueError, ["`low`", "-inf", "finite"]),
        ((0.0, 10**400), ValueError, ["`high`", "finite"]),
        ((-1.7e308, 1.7e308), ValueError, ["`high - low` must be finite", "1.7e+308"]),
        ((0, 2**53 + 1), ValueError, ["2**53", "9007199254740993"]),
        ([], ValueError, ["`choices`", "[]", "distinct"]),
        (["a", "b", "a"], ValueError, ["`choices`", "['a', 'b', 'a']", "distinct"]),
        ([1, 1.0], ValueError, ["[1, 1.0]", "distinct"]),
        ([1, math.nan], ValueError, ["nan", "None"]),
        ([[1], [2]], TypeError, ["[1]", "name"]),
        ({"a", "b"}, TypeError, ["{", "str, int, float, bool or None"]),
        (float, TypeError, ["<class 'float'>"]),
        (math.inf, ValueError, ["inf"]),
        (np.array([1, 2]), TypeError, ["array([1, 2])"]),
        (len, TypeError, ["built-in function len", "look them up"]),
    ],
)
def test_a_bad_shorthand_is_refused_under_its_dotted_name(
    value: Any, error: Any, parts: list[str]
) -> None:
    with pytest.raises(error) as caught:
        Space({"aug": {"x": value}, "fine": (0.0, 1.0)})
    assert str(caught.value).startswith("parameter 'aug.x': ")
    assert all(part in str(caught.value) for part in parts), caught.value


@pytest.mark.parametrize(
    ("make", "error", "parts"),
    [
        (lambda: Float(0.0, 1.0, log=True), ValueError, ["`0 < low < high`", "low=0.0"]),
        (lambda: Integer(-1, 9, log=True), ValueError, ["`0 < low < high`", "low=-1"]),
        (
            lambda: Float(1e-17, math.nextafter(1e-17, 1), True),
            ValueError,
            ["log(low) < log(high)"],
        ),
        (lambda: Float("0", 1.0), TypeError, ["`low`", "'0'"]),  # type: ignore[arg-type]
        (lambda: Float(0.0, True), TypeError, ["`high`", "True"]),
        (lambda: Float(1.0, 2.0, "yes"), TypeError, ["`log`", "'yes'"]),  # type: ignore[arg-type]
        (lambda: Integer(1, 2.5), ValueError, ["`high`", "2.5", "whole"]),  # type: ignore[arg-type]
        (lambda: Integer(1, math.inf), ValueError, ["`high`", "inf"]),  # type: ignore[arg-type]
        (lambda: Integer(1, 2**40 + 1, log=True), ValueError, ["2**40", "1099511627777", "Float"]),
        (lambda: Ordinal(["s"]), ValueError, ["`values`", "['s']", "Constant"]),
        (lambda: Ordinal("sml"), TypeError, ["`values`", "'sml'"]),
        (lambda: Categorical({"a", "b"}), TypeError, ["`choices`", "order"]),  # type: ignore[arg-type]
        (lambda: Categorical(3), TypeError, ["`choices`", "3"]),  # type: ignore[arg-type]
        (lambda: Constant([1]), TypeError, ["[1]", "str, int"]),  # type: ignore[arg-type]
    ],
)
def test_a_bad_spec_is_refused_where_it_is_made(make: Any, error: Any, parts: list[str]) -> None:
    with pytest.raises(error) as caught:
        make()
    assert all(part in str(caught.value) for part in parts), caught.value


@pytest.mark.parametrize(
    ("obj", "error", "parts"),
    [
        ({}, ValueError, ["parameter to tune", "{}"]),
        ({"a": 1, "b": ["x"]}, ValueError, ["parameter to tune", "'a': 1"]),
        ({"a": {}, "b": (0, 1)}, ValueError, ["'a'", "empty"]),
        ({1: (0, 1)}, TypeError, ["1", "str"]),
        ({"a": {2: (0, 1)}}, TypeError, ["'a.2'", "str"]),
        ({"": (0, 1)}, TypeError, ["non-empty"]),
        ({"a": {"b": (0, 1)}, "a.b": (0, 2)}, ValueError, ["'a.b'", "once"]),
        ({"a.b": (0, 1), "a": {"b": (0, 2)}}, ValueError, ["'a.b'", "once"]),
        ([(0, 1)], TypeError, ["a space must be a dict", "[(0, 1)]"]),
        (None, TypeError, ["a space must be a dict", "None"]),
    ],
)
def test_a_bad_space_is_refused(obj: Any, error: Any, parts: list[str]) -> None:
    with pytest.raises(error) as caught:
        Space.of(obj)
    assert all(part in str(caught.value) for part in parts), caught.value


def test_specs_that_python_finds_equal_are_kept_apart() -> None:
    assert Categorical([True, False]) != Categorical([1, 0])
    assert Constant(1) != Constant(1.0)
    assert Ordinal([1, 2]) != Categorical([1, 2])
    assert len({Constant(1), Constant(True), Constant(1.0), Constant(1)}) == 3


# --- keeping and comparing --------------------------------------------------------------------


@given(SPACES)
def test_a_space_survives_json_pickle_copy_and_its_own_repr(space: Space) -> None:
    names = {c.__name__: c for c in (Float, Integer, Ordinal, Categorical, Constant, Space)}
    for twin in (
        Space.from_dict(json.loads(json.dumps(space.to_dict(), allow_nan=False))),
        pickle.loads(pickle.dumps(space)),
        copy.deepcopy(space),
        eval(repr(space), names),
    ):
        assert twin == space
        assert hash(twin) == hash(space)
        assert repr(twin) == repr(space)
        assert twin.difference(space) is None
        assert not twin.levels.flags.writeable


@given(SPACES, SPACES)
def test_spaces_are_equal_iff_there_is_no_difference(a: Space, b: Space) -> None:
    assert (a == b) == (a.difference(b) is None)


def test_difference_says_which_parameter_and_how() -> None:
    base = {"lr": (0.1, 1.0), "opt": [1, 2], "k": 1}
    for change, parts in (
        ({"lr": (0.1, 2.0)}, ["'lr'", "high=1.0", "high=2.0"]),
        ({"lr": Float(0.1, 1.0, log=True)}, ["'lr'", "log=False", "log=True"]),
        ({"opt": [True, 2]}, ["'opt'", "(1, 2)", "(True, 2)"]),
        ({"k": 1.0}, ["'k'", "value=1)", "value=1.0)"]),
        ({"new": bool}, ["'new'", "missing here", "Categorical"]),
    ):
        text = Space(base).difference(Space(base | change))
        assert text is not None
        assert all(part in text for part in parts), text
        assert text.count("parameter") == 1
    less = Space(base).difference(Space({"lr": (0.1, 1.0)}))
    assert less is not None
    assert "'opt'" in less
    assert "missing there" in less
    assert Space(base).difference(Space(dict(reversed(base.items())))) == (
        "order: lr, opt, k here, k, opt, lr there"
    )
    assert Space(base) != base


def test_from_dict_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match=r"parameter 'x': `type`.*'Gaussian'"):
        Space.from_dict({"parameters": [{"name": "x", "type": "Gaussian"}]})
    with pytest.raises(TypeError, match=r"parameter 'x': .*high"):
        Space.from_dict({"parameters": [{"name": "x", "type": "Float", "low": 1.0}]})
    with pytest.raises(ValueError, match="parameter 'x': `low < high`"):
        Space.from_dict({"parameters": [{"name": "x", "type": "Float", "low": 1.0, "high": 0.0}]})


# --- ConfigSpace ------------------------------------------------------------------------------


def test_every_kind_of_configspace_is_understood() -> None:
    theirs = CS.ConfigurationSpace({"a": (0.5, 1.0), "b": (1, 8), "c": ["x", "y"], "d": 3})
    theirs.add(
        CS.Float("e", (1e-4, 1e-1), log=True),
        CS.Integer("f", (1, 100), log=True),
        CS.OrdinalHyperparameter("g", ["s", "m", "l"]),
        CS.NormalFloatHyperparameter("h", 3, 1, lower=1, upper=9),
        CS.NormalIntegerHyperparameter("i", 3, 1, lower=1, upper=9, log=True),
        CS.BetaFloatHyperparameter("j", alpha=2, beta=2, lower=1, upper=9, log=True),
        CS.BetaIntegerHyperparameter("k", alpha=2, beta=2, lower=1, upper=9),
        CS.CategoricalHyperparameter("l", [None, True, 2.5], weights=[1, 2, 3]),
        CS.CategoricalHyperparameter("m", ["only"]),
        CS.OrdinalHyperparameter("n", [7]),
    )
    assert dict(Space.of(theirs).specs) == {
        "a": Float(0.5, 1.0),
        "b": Integer(1, 8),
        "c": Categorical(["x", "y"]),
        "d": Constant(3),
        "e": Float(1e-4, 1e-1, log=True),
        "f": Integer(1, 100, log=True),
        "g": Ordinal(["s", "m", "l"]),
        "h": Float(1.0, 9.0),
        "i": Integer(1, 9, log=True),
        "j": Float(1.0, 9.0, log=True),
        "k": Integer(1, 9),
        "l": Categorical([None, True, 2.5]),
        "m": Constant("only"),
        "n": Constant(7),
    }


def test_a_space_survives_configspace_and_takes_its_configurations() -> None:
    space = Space(
        {
            "crop": (0.5, 1.0),
            "aug.flip": bool,
            "lr": Float(1e-4, 1e-1, log=True),
            "n": Integer(1, 64, log=True),
            "size": Ordinal([1, 4, 16]),
            "opt": ["sgd", None],
            "epochs": 90,
        }
    )
    theirs = space.to_configspace()
    assert dict(Space.of(theirs).specs) == dict(space.specs)
    theirs.seed(0)
    for configuration in theirs.sample_configuration(20):
        decoded = space.decode(space.encode(configuration))
        assert decoded.keys() == configuration.keys()
        for name, value in configuration.items():
            close = math.isclose(decoded[name], value) if type(value) is float else False
            assert close or decoded[name] == value


def test_conditions_forbidden_clauses_and_missing_bounds_are_refused_by_name() -> None:
    conditional = CS.ConfigurationSpace({"lr": (0.0, 1.0), "opt": ["sgd", "adam"]})
    conditional.add(CS.EqualsCondition(conditional["lr"], conditional["opt"], "sgd"))
    with pytest.raises(ValueError, match=r"conditions.*lr \| opt == 'sgd'"):
        Space.of(conditional)
    with pytest.raises(ValueError, match=r"conditions.*lr \| opt == 'sgd'"):
        Space.of({"nested": conditional})
    forbidden = CS.ConfigurationSpace({"lr": (0.0, 1.0), "opt": ["sgd", "adam"]})
    forbidden.add(CS.ForbiddenEqualsClause(forbidden["opt"], "adam"))
    with pytest.raises(ValueError, match=r"Forbidden: opt == 'adam'"):
        Space.of(forbidden)
    unbounded = CS.NormalFloatHyperparameter("lr", 0, 1, lower=-1, upper=1)
    unbounded.lower, unbounded.upper = -math.inf, math.inf
    with pytest.raises(ValueError, match=r"parameter 'lr': `low` must be a finite.*-inf"):
        Space.of({"lr": unbounded})


def test_what_configspace_cannot_hold_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"parameter 'lr'.*1e-17.*13 decimals"):
        Space({"lr": Float(1e-17, 1e-15, log=True)}).to_configspace()
    with pytest.raises(ValueError, match=r"parameter 'x'.*\(True, 1\).*True is 1"):
        Space({"x": [True, 1]}).to_configspace()


def test_a_dict_is_read_without_importing_configspace() -> None:
    code = (
        "import sys; from midrun.space import Space\n"
        "s = Space({'a': (0., 1.), 'b': ['x', 'y'], 'c': 1})\n"
        "s.encode(s.decode(s.snap([.3, .4]))); Space.from_dict(s.to_dict())\n"
        "assert 'ConfigSpace' not in sys.modules"
    )
    path = os.pathsep.join(filter(None, sys.path))
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": path})
