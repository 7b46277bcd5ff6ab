//! The tokenizer that a MEGA65 runs: nothing but the tables of an image.
