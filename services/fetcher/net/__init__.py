"""One exchange over the network: names resolved and judged, a connection with limits, an answer read with limits."""
