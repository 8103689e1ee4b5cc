"""What all models have in common."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Fields that a newer server has and this client does not know are ignored.

    Built when first used: there are hundreds, and a program uses some.
    """

    model_config = ConfigDict(defer_build=True, protected_namespaces=())
