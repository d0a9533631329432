"""Pure rules: functions on plain values, without clock, randomness, settings or I/O."""
