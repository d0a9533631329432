"""What stands before the application: takes connections and whole requests, so that no slow client holds a thread."""
