//! The SSNAIL instruction set and memory image: one table, one layout, everything else derived from them.
