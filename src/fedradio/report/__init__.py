"""What people look at: tables, progress, figures."""
