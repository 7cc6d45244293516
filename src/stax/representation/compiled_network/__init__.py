"""The convolutional autoencoder as compiled code. The rest of the package uses `network.py`.

`plan` is the layout of the arrays in memory, `vectors` has the inner loops, `packing` orders the weights for them, `products`
and `pictures` build layers of them, and `kernels` has the functions that Python calls.

- PyTorch's kernels reached 40 to 50 % of the rate of a matrix product, and on other processors it chooses other kernels, with
  other bits.
- Every number is one chain of fused multiply-adds in a fixed order, so its bits depend neither on the width of vectors, nor on
  the batch, nor on threads. SELU has an exponential of its own, and Adam is written out: those of PyTorch and of the C library
  differ between processors.
- Channels are last, arrays have a border of zeros, and nothing is copied: a convolution reads runs of memory as they are. A
  transposed convolution is four convolutions, one for each parity of row and column. Each is the gradient of the other, so
  three functions do the forward and backward passes of all layers. The last layer, of three channels, is put together from
  products with all its weights.
- Transposed convolutions use nine products instead of sixteen (Winograd): two by two outputs share sums of weights and
  differences of inputs. Only sums and differences are needed besides, so little accuracy is lost.
- A layer is computed only where a pixel that it sees differs from a reference picture, in training too, and pictures that
  repeat, such as those of an arm that has collided, are encoded once.
"""
