"""The engine on ONNX Runtime, without torch: plain Transformers and DocFlat on a CPU.

In come the weights of a model folder, of whose sizes graphs are written; out comes the `Engine` that runs them.
"""
