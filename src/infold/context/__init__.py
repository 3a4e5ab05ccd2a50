"""Contexts: the token-bounded view of a chat that is handed to a model. Pure.

`view` says what a context is made from and what it is; `parts` are the parts of memory; `assembly` chooses what of them is
shown within a budget; `block` writes it as quoted data that nobody can break out of, and knows it again.
"""

from infold.context.view import Context as Context
from infold.context.view import Explanation as Explanation
from infold.context.view import Piece as Piece
from infold.context.view import View as View
