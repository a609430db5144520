"""Types and methods that were generated: every operation has a method, and every name in a type means something."""

import typing
import unittest

from pensa_client import Pensa, types
from pensa_client.operations import ROUTES, Operations


class Types(unittest.TestCase):
    def test_every_operation_has_a_method_with_typed_fields_and_a_typed_answer(self) -> None:
        for name in ROUTES:
            with self.subTest(operation=name):
                hints = typing.get_type_hints(getattr(Operations, name.replace(".", "_")))
                self.assertEqual(hints.keys(), {"fields", "return"})
                self.assertTrue(callable(getattr(Pensa, name.replace(".", "_"))))

    def test_every_type_can_be_resolved(self) -> None:
        dicts = [one for one in vars(types).values() if typing.is_typeddict(one)]
        self.assertGreater(len(dicts), len(ROUTES))
        for one in dicts:
            with self.subTest(type=one.__name__):
                typing.get_type_hints(one)
