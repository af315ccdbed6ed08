"""Who is asking: users, teams, projects, API keys, and what each of them may do."""
