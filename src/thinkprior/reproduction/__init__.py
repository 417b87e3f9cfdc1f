"""The reproduction page: every published number beside ours, and the paper's claims decided."""
