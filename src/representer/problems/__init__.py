"""What is to be solved: frozen records that know objective and gap."""
