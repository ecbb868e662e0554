"""What agents achieve: episodes counted fairly, with everything needed to repeat them."""
