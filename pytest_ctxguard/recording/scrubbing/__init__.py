"""Where secrets stand in an exchange, and how they are replaced and searched for."""
