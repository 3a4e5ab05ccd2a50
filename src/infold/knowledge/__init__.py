"""What is known of chats and users: facts and entities."""
