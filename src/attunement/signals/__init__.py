"""What can be measured in a conversation without an LLM."""
