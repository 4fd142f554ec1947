"""How the schema came to be, step by step; run by `prepare` under the writers' lock."""
