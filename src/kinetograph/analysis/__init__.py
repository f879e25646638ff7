"""Questions to a trace, each answered by a table. Nothing is drawn here."""
