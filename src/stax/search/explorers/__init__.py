"""Explorers: one way of exploring a file. A method (`stax.search.methods`) refers to its explorer."""
