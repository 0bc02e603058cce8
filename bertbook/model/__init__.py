"""Ids to vectors: attention, embeddings, encoder layer, and the BERT they make."""
