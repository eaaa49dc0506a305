"""Names of PyTorch that are not public, and what runs in a version that lacks them. No other file uses one."""
import contextlib
import functools
import importlib
import sys

import torch
from torch.autograd import forward_ad


def _always():
    return True


def _autocast_is_on():
    return torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")


# Whether a mode, a transform or autocast would see a call. Without these names every call goes to the registered operator,
# where PyTorch looks for itself: it costs some microseconds more.
dispatch_modes = getattr(torch._C, "_len_torch_dispatch_stack", _always)
transforms_active = getattr(torch._C, "_are_functorch_transforms_active", _always)
autocast_is_on = getattr(torch._C, "_is_any_autocast_enabled", _autocast_is_on)

forward_enabled = getattr(torch._C, "_is_fwd_grad_enabled", _always)
# Else the registered operators go without rules for torch.func and forward mode, and PyTorch refuses them.
SEES_TRANSFORMS = hasattr(torch._C, "_are_functorch_transforms_active") and hasattr(torch._C, "_is_fwd_grad_enabled")
_unwrapped = getattr(getattr(torch._C, "_functorch", None), "get_unwrapped", None)
_is_wrapper = getattr(getattr(torch._C, "_functorch", None), "is_gradtrackingtensor", None)


is_tracing = getattr(torch._C, "_is_tracing", torch.jit.is_tracing)
forward_level = vars(forward_ad).get  # forward_level("_current_level", -1) is at least 0 where tensors may have tangents


def without_transforms(tensor):
    """The tensor that torch.func.grad and others have wrapped. One of vmap stays as it is."""
    while _unwrapped is not None and _is_wrapper is not None and _is_wrapper(tensor):
        tensor = _unwrapped(tensor)
    return tensor


def outside_transforms(function):
    """The function of graphs and plain tensors, run outside torch.func.grad and others: what it makes may be cached."""
    @functools.wraps(function)
    def run(*args):
        if not transforms_active():
            return function(*args)
        with _cleared_stack()():
            return function(*args)

    return run


@functools.lru_cache(maxsize=None)
def _cleared_stack():
    functorch = importlib.import_module("torch._functorch.pyfunctorch")
    return getattr(functorch, "temporarily_clear_interpreter_stack", contextlib.nullcontext)


_disabled = {}  # function -> torch.compiler.disable(function)


def not_compiled(function):
    """Compiled code calls it, and does not look inside."""
    function._torchdynamo_disable = True
    return function


@not_compiled
def outside_compiler(function):
    """torch.compiler.disable(function). That imports the compiler, a second or more, which is not needed until somebody compiles."""
    if "torch._dynamo" not in sys.modules:
        return function
    return _disabled.get(function) or _disabled.setdefault(function, torch.compiler.disable(function))


def apply_of(function):
    """function.apply of a torch.autograd.Function, without its own look for transforms: the caller has looked."""
    single_level = getattr(torch.autograd.function, "_SingleLevelFunction", None)
    return function.apply if single_level is None else super(single_level, function).apply


def without_autocast(device):
    """A function that makes a context in which operators on "cpu" or "cuda" do not reach their autocast kernel again."""
    guard, keys, key = (getattr(torch._C, name, None) for name in ("_ExcludeDispatchKeyGuard", "DispatchKeySet", "DispatchKey"))
    if guard is None or keys is None or key is None:
        return lambda: torch.autocast(device, enabled=False)
    autocast = keys(getattr(key, f"Autocast{device.upper()}"))
    return lambda: guard(autocast)
