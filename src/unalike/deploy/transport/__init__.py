"""How server and nodes reach each other over Flower: certificates, SuperLink, access control, messages."""
