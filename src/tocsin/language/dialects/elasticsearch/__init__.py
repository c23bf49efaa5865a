"""Queries of Elasticsearch's query language (Query DSL), as its percolator stores them."""

from tocsin.language.dialects.elasticsearch.queries import Elasticsearch

__all__ = ["Elasticsearch"]
