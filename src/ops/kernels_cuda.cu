// The entry points of all kernels, for the card.
#include <cuda_kernels.h>
