"""Names of PyTorch that are not public, and what runs in a version that lacks them. No other file uses one."""
import torch


def _always():
    return True


def _autocast_is_on():
    return torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")


# Whether a mode, a transform or autocast would see a call. Without these names every call goes to the registered operator,
# where PyTorch looks for itself: it costs some microseconds more.
dispatch_modes = getattr(torch._C, "_len_torch_dispatch_stack", _always)
transforms_active = getattr(torch._C, "_are_functorch_transforms_active", _always)
autocast_is_on = getattr(torch._C, "_is_any_autocast_enabled", _autocast_is_on)


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
