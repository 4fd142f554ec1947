"""Who gets which address: a function of state and request. Pure: no clock, no database, no socket."""
