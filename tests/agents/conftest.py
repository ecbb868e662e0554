"""What tests of the meta controller and of its updater share."""

import pytest

from errands.agents.meta import MetaController
from twins.meta import FORMS, randomised


@pytest.fixture(params=FORMS.values(), ids=FORMS.keys())
def meta(request: pytest.FixtureRequest) -> MetaController:
    return randomised(request.param)
