"""Postgres: the tables, the ledger over them and the queries for people. The only package that speaks SQL."""
