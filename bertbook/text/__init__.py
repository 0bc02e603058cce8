"""Characters to ids."""
