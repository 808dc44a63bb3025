"""The grammar of printf's placeholders: `%s`, `%1$d`, `%(name)s`, `%-5.2f`."""

from __future__ import annotations

_NAME = r"\([^()]{1,80}\)"
_NUMBER = r"[0-9]{1,2}\$"
_WIDTH = r"(?:[0-9]{1,4}|\*(?:[0-9]{1,2}\$)?)?(?:\.(?:[0-9]{1,4}|\*)?)?"
_LENGTH = r"(?:hh|h|ll|l|L|q|j|z|t)?"

# In a message that its file says is a format: any letter converts, and a blank is a flag.
IN_FORMATS = rf"%(?:{_NAME})?(?:{_NUMBER})?[-+ #0'I]{{0,5}}{_WIDTH}{_LENGTH}[a-zA-Z%]|%<\w+>"
# In any other text, where % may be a percent sign: "5 % of it", "100% sure", "a 100%discount".
_SPECIFIC = rf"[-+#0]{{0,5}}{_WIDTH}{_LENGTH}[diouxefgcsp@](?![\w%])"
IN_TEXT = rf"%{_NAME}[-+ #0]{{0,5}}{_WIDTH}[a-z]|%{_NUMBER}{_SPECIFIC}|(?<![0-9%])%{_SPECIFIC}"
