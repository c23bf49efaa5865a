"""The recipes of many templates."""

from __future__ import annotations

from tocsin.columns.expressions.recipes.recipe import Recipe, recipe_of
from tocsin.columns.expressions.spelling import Spelling
from tocsin.language import Instance, Template


class RecipeBook:
    """The recipes of the templates that had more than one instance. It forgets all of them when there are many.

    Making a recipe costs more than compiling one instance, so the first instance of a template is compiled alone,
    unless others come with it. A template with TEXT has no recipe; the template that its instances expand to may have
    one.
    """

    _MOST = 100_000

    def __init__(self) -> None:
        self._recipes: dict[Template, Recipe | None] = {}
        self._seen: set[Template] = set()  # templates of one instance so far
        self._spelling = Spelling()

    def read(self, given: Instance, *, is_alone: bool = True) -> tuple[Instance, Recipe | None]:
        """An instance, with TEXT expanded if possible, and the recipe of its template; None if it has none.

        `is_alone` says that no other instance of the template is compiled with it.
        """
        if is_alone and self._is_new(given.template):
            return given, None
        recipe = self._recipe(given.template)
        if recipe is not None:
            return given, recipe
        spelled = self._spelling.spelled(given)
        return spelled, None if spelled is given else self._recipe(spelled.template)

    def _is_new(self, template: Template) -> bool:
        if template in self._recipes or template in self._seen:
            return False
        if len(self._seen) >= self._MOST:
            self._seen.clear()
        self._seen.add(template)
        return True

    def _recipe(self, template: Template) -> Recipe | None:
        if template not in self._recipes:
            if len(self._recipes) >= self._MOST:
                self._recipes.clear()
            self._recipes[template] = recipe_of(template)
            self._seen.discard(template)
        return self._recipes[template]
