"""Loads scripts of this folder whose names are not valid in an import statement as modules.

    from siblings import sibling
    MODELS = sibling("torch-models.py")
"""
import importlib.machinery
import importlib.util
import pathlib


def sibling(name):
    """Another script of this folder as a module."""
    path = str(pathlib.Path(__file__).resolve().parent / name)
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_").removesuffix(".py"), path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
