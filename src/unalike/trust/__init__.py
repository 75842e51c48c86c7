"""Trust: dishonest clients, free-rider detection and unlearning."""
