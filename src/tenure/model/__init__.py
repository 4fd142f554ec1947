"""The nouns of Tenure, the events that change them, and the uses that ask for change. Pure values."""
