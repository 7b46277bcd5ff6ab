//! Runs a SSNAIL image as the hardware would.
