"""What all models have in common."""

from pydantic import BaseModel, ConfigDict, PrivateAttr


class Model(BaseModel):
    """Fields that a newer server has and this client does not know are ignored.

    Built when first used: there are hundreds, and a program uses some.
    """

    model_config = ConfigDict(defer_build=True, protected_namespaces=())

    _etag: str | None = PrivateAttr(default=None)

    @property
    def etag(self) -> str | None:
        """Of a thing that was read alone: pass it as `if_match`, and a change is done only if nobody was quicker."""
        return self._etag
