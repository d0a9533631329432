"""What two or more services use: rules, contracts, ports and their adapters."""
