"""What the server makes of uploads: their weighted sum, and what can be seen and checked of each of them."""
