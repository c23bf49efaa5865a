"""Recipes: a template compiled once for all its instances, to leaves with slots for names and constants."""

from tocsin.columns.expressions.recipes.book import RecipeBook
from tocsin.columns.expressions.recipes.recipe import Recipe, Row, filled_program

__all__ = ["Recipe", "RecipeBook", "Row", "filled_program"]
