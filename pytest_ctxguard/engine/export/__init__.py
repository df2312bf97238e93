"""Write a checkpoint as the engine's own graph: two files in a folder."""

GRAPH_FILE = "model.onnx"
DATA_FILE = "model.onnx.data"
