"""Transport over Flower: certificates, SuperLink, access control and messages."""
