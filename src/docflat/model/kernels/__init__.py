"""Triton kernels for GPUs.

In come tensors on a GPU; out comes what the plain functions of the room `model` make of them, faster.
"""
