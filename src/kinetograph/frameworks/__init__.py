"""What frameworks tell of themselves. Each is imported only when a program uses it."""
