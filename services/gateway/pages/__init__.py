"""The web pages: templates made on the server, scripts and styles as files, everything else over the API."""
