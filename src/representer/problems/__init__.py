"""Optimisation problems: frozen records that know their objective and duality gap."""
