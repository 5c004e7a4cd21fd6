"""The attacks run by tools/attack: each is a function that takes a Setting and returns Outcomes."""
