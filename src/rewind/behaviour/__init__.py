"""How data sets are made: behaviour policies, waypoint navigation, collection."""
