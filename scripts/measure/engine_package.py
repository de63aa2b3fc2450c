"""Loads the Triton kernels of an engine's Python package, also where the engine itself could not start.

    package = Package("sglang", folder)          # folder: None for the installed package, or an unpacked wheel
    package.version                              # "0.5.14"
    chunk = package.module("srt.layers.attention.fla.chunk").chunk_gated_delta_rule

An engine imports a hundred packages before its first kernel. Here the packages on the way to a module are namespaces:
their __init__.py does not run. Modules that are missing, and those of `facts`, are replaced by stand-ins: any
attribute of a stand-in is one, it is false, and as a decorator it returns the function. So a kernel's file runs as it is
shipped, and only host code that a measurement does not use is absent.

Limits: what a stand-in decides (`if is_x():`) is decided as false, so `facts` must name what the kernels ask.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import pathlib
import sys
import types


class StandIn:
    """Any attribute, false, callable; a decorator that changes nothing."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()

    def __call__(self, *values, **named):
        if len(values) == 1 and not named and callable(values[0]) and not isinstance(values[0], StandIn):
            return values[0]
        return StandIn()

    def __bool__(self):
        return False

    def __iter__(self):
        return iter(())

    def __mro_entries__(self, bases):
        return (object,)


class StandInModule(types.ModuleType):
    def __init__(self, name, facts):
        super().__init__(name)
        self.__path__ = []
        self.__dict__.update(facts)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()


class Own(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The engine's modules: folders as namespaces, files as they are, those of `facts` as stand-ins."""

    def __init__(self, name, root, facts):
        self.name, self.root, self.facts = name, root, facts

    def find_spec(self, full, path=None, target=None):
        if full != self.name and not full.startswith(self.name + "."):
            return None
        if full in self.facts:
            return importlib.machinery.ModuleSpec(full, self, is_package=True)
        place = self.root.joinpath(*full.split(".")[1:])
        if place.is_dir():
            spec = importlib.machinery.ModuleSpec(full, None, is_package=True)
            spec.submodule_search_locations = [str(place)]
            return spec
        file = place.with_suffix(".py")
        if file.is_file():
            return importlib.util.spec_from_file_location(full, file)
        return importlib.machinery.ModuleSpec(full, self, is_package=True)

    def create_module(self, spec):
        return StandInModule(spec.name, self.facts.get(spec.name, {}))

    def exec_module(self, module):
        pass


class Missing(Own):
    """Packages of others that are not installed."""

    names = ("sgl_kernel", "flashinfer", "einops", "triton_kernels", "tvm_ffi", "zmq", "vllm")

    def __init__(self):
        super().__init__("", pathlib.Path(), {})

    def find_spec(self, full, path=None, target=None):
        if full.split(".")[0] not in self.names:
            return None
        return importlib.machinery.ModuleSpec(full, self, is_package=True)


def facts_of_sglang():
    import torch

    def cuda():
        return True

    def other():
        return False

    release = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    capability = torch.cuda.get_device_capability()
    common = {
        "is_cuda": cuda,
        "is_sm90_supported": lambda *_: capability[0] == 9,
        "is_sm100_supported": lambda *_: capability[0] == 10,
        "get_device_name": lambda *_: torch.cuda.get_device_name(),
        "torch_release": release,
        "cpu_has_amx_support": other,
        "get_bool_env_var": lambda *_: False,
    }
    for name in ("hip", "cpu", "xpu", "npu", "musa"):
        common["is_" + name] = other
    return {
        "sglang.srt.utils": common,
        "sglang.srt.utils.common": common,
        "sglang.srt.environ": {},
        "sglang.srt.server_args": {},
        "sglang.srt.batch_invariant_ops": {},
        "sglang.srt.model_executor.cuda_graph_config": {},
        "sglang.srt.layers.moe.utils": {"get_moe_padding_size": lambda *_: 0},
        "sglang.srt.layers.quantization.fp8_kernel": {},
        "sglang.srt.layers.quantization.int8_kernel": {},
        "sglang.jit_kernel": {},
        "sglang.jit_kernel.utils": {"is_arch_support_pdl": other},
    }


class Package:
    def __init__(self, name, folder=None):
        self.name = name
        if folder is None:
            self.version = importlib.metadata.version(name)
            root = pathlib.Path(importlib.metadata.distribution(name).locate_file(name))
        else:
            root = pathlib.Path(folder) / name
            [info] = pathlib.Path(folder).glob(f"{name}-*.dist-info")
            self.version = info.name[len(name) + 1 : -len(".dist-info")]
        if not root.is_dir():
            raise SystemExit(f"no package {name} in {root.parent}")
        sys.meta_path.insert(0, Own(name, root, facts_of_sglang() if name == "sglang" else {}))
        sys.meta_path.append(Missing())

    def module(self, name):
        return importlib.import_module(f"{self.name}.{name}")

    def give(self, name, **facts):
        """Sets what a package's __init__.py would."""
        sys.modules[f"{self.name}.{name}"].__dict__.update(facts)
