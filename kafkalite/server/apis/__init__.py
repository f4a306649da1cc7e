"""One file per API: its versions, its behaviour, what is missing and why. `table.py` names them
all."""
