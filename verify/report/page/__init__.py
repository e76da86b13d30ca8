"""The parts of a page: elements, code, the picture of a move, the style."""
