"""The parts of a page: elements, code, the picture of a move, the style.

code      code on it: coloured, numbered, cut, two sides beside each other
elements  its elements: text can never turn into markup
figure    the picture of a move
"""
