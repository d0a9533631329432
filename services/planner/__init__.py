"""The planner: makes the plan, and after each iteration decides what to look for next."""
