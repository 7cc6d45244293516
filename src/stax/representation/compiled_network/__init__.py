"""The convolutional autoencoder as compiled code. `network.py` is what the rest of the package uses."""
