"""A transcript replayed under a policy: the requests it would have sent."""
