"""The command `representer`: fit, predict, explain, info, demo."""
