"""Trust: dishonest clients, robust aggregation, free-rider detection and unlearning."""
