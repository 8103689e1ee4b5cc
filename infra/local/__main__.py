"""The entry of every verb: `python -m infra.local VERB`. Ctrl-C is clean here too, while modules are still loading."""

import importlib
import sys

_MODULES = {
    "setup": "setup",
    "test": "testing",
    "lint": "linting",
    "generate": "generating",
    "query": "query",
}
_INTERRUPTED = 130

try:
    if len(sys.argv) > 1 and sys.argv[1] in _MODULES:
        module = importlib.import_module(f"infra.local.{_MODULES[sys.argv.pop(1)]}")
    else:
        module = importlib.import_module("infra.local.launcher")
    sys.exit(module.main())
except KeyboardInterrupt:
    sys.exit(_INTERRUPTED)
