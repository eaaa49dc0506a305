"""What rodeo._core needs to know of PyTorch, told when the first tensor arrives. Nothing is imported for it."""
import sys

from . import _core

_torch_is_known = False
_tensor_type = None  # torch.Tensor, once it is known
_is_grad_enabled = _watchers = None  # functions of PyTorch, likewise


def know(array):
    """Tells rodeo._core about PyTorch if `array` is one of its tensors. Returns whether it is."""
    if type(array) is _tensor_type:
        return True
    if not _is_tensor(array):
        return False
    if not _torch_is_known:
        _register_torch()
    return True


def _is_tensor(array):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _register_torch():
    global _tensor_type, _torch_is_known, _is_grad_enabled, _watchers
    import torch

    # The codes of rodeo::DType.
    codes = {torch.float64: 0, torch.float32: 1, torch.bfloat16: 2, torch.float16: 3, torch.int64: 4, torch.int32: 5,
             torch.uint8: 6}
    dtypes = {code: dtype for dtype, code in codes.items()}
    codes[torch.bool] = 6
    raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    if raw_stream is None:  # a build without CUDA
        def raw_stream(index):
            return torch.cuda.current_stream(index).cuda_stream
    exchange = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)  # since PyTorch 2.10
    _core.register_torch(torch.Tensor, torch.empty, torch.empty_like, torch.uint8, raw_stream, torch.strided, codes, dtypes,
                         exchange)
    _is_grad_enabled = torch.is_grad_enabled
    _watchers = (getattr(torch._C, "_are_functorch_transforms_active", bool), getattr(torch._C, "_is_tracing", torch.jit.is_tracing),
                 vars(torch.autograd.forward_ad).get)
    _torch_is_known = True
    _tensor_type = torch.Tensor


def wants_gradient(*arrays):
    """Whether PyTorch would record an operation on these arrays."""
    for array in arrays:
        if array is not None and know(array) and array.requires_grad:
            return _is_grad_enabled()
    return False


def is_seen(*arrays):
    """wants_gradient(), or torch.func, forward-mode differentiation or torch.jit.trace would see an operation on these arrays."""
    any_tensor = False
    for array in arrays:
        if array is not None and know(array):
            any_tensor = True
            if array.requires_grad and _is_grad_enabled():
                return True
    if not any_tensor:
        return False
    transforms_active, is_tracing, level = _watchers
    return transforms_active() or is_tracing() or level("_current_level", -1) >= 0


def note_written(array):
    """PyTorch saves tensors for backward, and refuses those that were written to since: it must know that this one was."""
    if know(array) and not array.is_inference():
        import torch
        torch.autograd.graph.increment_version(array)


def like_of(array):
    """An empty array of the framework and device of `array`: it decides where results of graphs are allocated."""
    if know(array):
        return array.new_empty((0,))
    try:
        return array[:0] if array.ndim else array
    except (TypeError, AttributeError, IndexError):
        return array


def from_dlpack(array, like):
    """`array`, an object with DLPack, in the framework of `like`. Shares memory."""
    if know(like):
        import torch
        with torch.inference_mode(False):  # graphs keep it: autograd refuses tensors of inference
            return torch.from_dlpack(array)
    module = type(like).__module__.split(".")[0]
    if module.startswith("jax"):
        import jax
        return jax.dlpack.from_dlpack(array)
    if module == "cupy":
        import cupy
        return cupy.from_dlpack(array)
    import numpy
    return numpy.from_dlpack(array) if hasattr(numpy, "from_dlpack") else numpy.asarray(array)
