"""What the synthesizer says to a model: instructions that never change within a version, and how data is laid out."""
